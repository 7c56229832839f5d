import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.batch import PaddedTokens
from regard.decoding.loop import rescore
from regard.special_tokens import BEGIN, END
from tests.support.small_models import Case, Small

SMALL = Small("transformer-pre-attention-learned-shared", torch.float64)
targets = st.lists(st.lists(st.integers(5, 10), max_size=4), min_size=1, max_size=4)


@given(targets, st.data(), st.integers(0, 99))
@settings(max_examples=5)
def test_each_token_has_the_model_log_probability(targets: list[list[int]], data: st.DataObject, seed: int) -> None:
    sentences = data.draw(st.lists(st.integers(0, 1), min_size=len(targets), max_size=len(targets)))
    model, source = SMALL.build(seed), Case((2, 4), (1, 2), seed).source
    output = rescore(model, source, targets, sentences=sentences)
    for target, sentence, scores in zip(targets, sentences, output, strict=True):
        memory = model.encode(PaddedTokens.from_rows([source.tokens[sentence, : source.lengths[sentence]].tolist()]))
        state = model.init_state(memory)
        for place, (read, expected) in enumerate(zip([BEGIN, *target], [*target, END], strict=True)):
            decoded = model.decode(torch.tensor([[read]]), memory, state)
            state = decoded.state
            SMALL.assert_same(scores[place], decoded.logits.log_softmax(dim=-1)[0, 0, expected].detach())
        assert (scores[len(target) + 1 :] == 0).all()
