r"""Attention with one head and any score.

    key = x W_k  (width D_k),   value = x W_v  (width D_v),   context = attend(score(query, key), value)

The RNN with attention uses it without W_k and W_v: the encoder states are keys and values.
"""

from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.attend import AttentionOutput
from regard.attention.attend_with_score import Visible, attend_with_score
from regard.attention.hooks import SequencePositions
from regard.attention.key_value_cache import KeyValues
from regard.attention.scores import make_score


class AttentionLayer(nn.Module):
    """One head: keys of width D_k and values of width D_v, both projected from the inputs.

    For example, the attention of a decoder's state to those of an encoder:

        attention = regard.AttentionLayer(query_width=32, input_width=48, score="general")
        states, query = torch.randn(1, 10, 48), torch.randn(1, 1, 32)
        output = attention(query, attention.key_values(states))
        print(output.context.shape, output.weights.shape)
    """

    def __init__(
        self,
        query_width: int,
        input_width: int,
        *,
        score: str,
        key_width: int | None = None,
        value_width: int | None = None,
    ) -> None:
        super().__init__()
        self.key = nn.Identity() if key_width is None else nn.Linear(input_width, key_width)
        self.value = nn.Identity() if value_width is None else nn.Linear(input_width, value_width)
        self.score = make_score(score, query_width, key_width or input_width)

    def key_values(self, inputs: Float[Tensor, "B K inputs"]) -> KeyValues:
        """Everything that depends on the inputs alone, computed once for any number of queries."""
        return KeyValues.from_tensors(
            self.score.project_keys(self.key(inputs)).unsqueeze(1), self.value(inputs).unsqueeze(1)
        )

    def forward(
        self,
        query: Float[Tensor, "B Q query"],
        key_values: KeyValues,
        visible: Visible = None,
        *,
        positions: SequencePositions = None,
    ) -> AttentionOutput:
        """The context of each query (B, Q, D_v), and its weights over the inputs (B, Q, K)."""
        context, weights = attend_with_score(
            self, self.score, query.unsqueeze(1), key_values, visible, positions=positions
        )
        return AttentionOutput(context.squeeze(1), weights.squeeze(1))  # one head: (B, 1, Q, K)
