/** What Inside says in English of what stands around an attention. */

export const aroundEnglish = {
  "around.number": "number",
  "around.more_numbers": "show {count} more numbers",
  "around.mean": "mean μ",
  "around.deviation": "deviation √(σ² + ε)",
  "around.see_below": "See the block below",
  "around.see_above": "See the block above",
  "around.see_other": "See its arithmetic",

  "around.embedding_title": "Where x comes from: token and position",
  "around.embedding_text": "“{token}” is a number in the vocabulary, and the embedding table has a row of {width} numbers for it, found by training.",
  "around.embedding_position": "Attention by itself does not see order, so the vector of position {position} (counted from 0) is added.",
  "around.embedding_rotary": "No position is added here: this model turns queries and keys by their positions instead.",
  "around.embedding_unplaced": "No position is added to it in this model.",
  "around.below_title": "Where x comes from: the block below",
  "around.below_text": "Block {number} of this stack gave these {width} numbers for this token. They carry what it has learned so far.",
  "around.below_eye": "A patch of the picture, through one matrix, with the encoding of its row and column added.",

  "around.norm_title_embedding": "Layer norm before the first block",
  "around.norm_title_attention": "Layer norm before attention",
  "around.norm_title_feed-forward": "Layer norm before the feed-forward network",
  "around.norm_title_last": "Layer norm above the last block",
  "around.norm_text":
    "Subtract the mean of the token's own numbers and divide by their deviation: mean 0, deviation 1, whatever came in. Then each number has a gain g and a bias b that training has found.",

  "around.add_title": "Add: the residual connection",
  "around.add_title_network": "Add, around the feed-forward network",
  "around.add_text": "What was found is added to what came in; nothing is replaced. So the token keeps what it was, and a gradient finds a straight way down.",
  "around.add_norm_title": "Add & Norm",
  "around.add_norm_title_network": "Add & Norm, around the feed-forward network",
  "around.add_norm_text":
    "What was found is added to what came in, so that the token keeps what it was. Then the sum is normalised: less its mean, divided by its deviation, with a gain g and a bias b that training has found.",
  "around.before_self-attention_title": "In this block before: self-attention",
  "around.before_self-attention_text": "First the target has looked at itself. What that found (o) was added in the same way.",
  "around.before_recurrence_title": "In this block before: recurrence",
  "around.before_recurrence_text": "In this model a recurrent unit (SSRU), not attention, passes on what was said before. What it found (o) was added in the same way.",
  "around.after_cross-attention_title": "In this block next: attention to the source",
  "around.after_cross-attention_text": "With what it has now, the target looks at the source. What that finds (o) is added in the same way.",

  "around.widen_title": "Feed-forward network: W₁ and {activation}",
  "around.widen_text": "Each position by itself: from {width} numbers the matrix W₁ makes {inner}.",
  "around.relu_text": "ReLU then lets what is positive pass and sets the rest to 0.",
  "around.gelu_text": "GELU then lets what is clearly positive pass, and bends the rest softly towards 0.",
  "around.silu_text": "SiLU then lets what is clearly positive pass, and bends the rest softly towards 0.",
  "around.narrow_title": "Feed-forward network: W₂",
  "around.narrow_text": "The matrix W₂ makes {width} numbers of them again.",
  "around.matrices_left_out": "This network's matrices are too large for this file. Start `regard serve` to see the sum.",

  "around.upward_title": "Where it goes",
  "around.upward_above": "This is what block {number} of the stack begins with.",
  "around.upward_memory": "This is what the encoder has made of the token. The decoder's attention looks at it: its keys and values are made of these numbers.",
  "around.upward_eye": "This is what the eye has made of the place. The decoder's attention looks at it.",
  "around.joined_title": "Then: an RNN has no Add & Norm",
  "around.joined_text":
    "What follows in a Transformer (residual connection, layer norm, feed-forward network) an RNN does not have. It joins the context c with the decoder's state s in one matrix and tanh; h goes to the output layer.",
  "around.left_out_title": "What follows",
  "around.left_out_text": "Add & Norm, the feed-forward network and the output layer are too large for this file at this length. Start `regard serve` to see them.",

  "around.head_title": "Before the output layer",
  "around.head_text": "A reader passes the vector through one more matrix, {activation} and a layer norm.",
  "around.spoken_title": "Output layer and softmax: the likeliest tokens",
  "around.spoken_text_said":
    "The output layer has a row w for each of the {vocabulary} tokens of the vocabulary. Its product with h, the vector that has come all this way, is the token's logit (with a bias, where the layer has one), and the softmax makes probabilities of all of them. These are the ten likeliest to be said next, and the one that was.",
  "around.spoken_text_stands":
    "The output layer has a row w for each of the {vocabulary} tokens of the vocabulary. Its product with h, the vector that has come all this way, is the token's logit (with a bias, where the layer has one), and the softmax makes probabilities of all of them. These are the ten likeliest for this place, and the one that stands there.",
  "around.token": "Token",
  "around.rank": "rank",
  "around.logit": "logit",
  "around.logit_of": "The logit of {token}",
  "around.probability": "probability",
  "around.which": "which?",
  "around.said_mark": "said",
  "around.stands_mark": "stands here",
  "around.log_total": "log of the sum of e^logit over the vocabulary",
};
