"""The tree of a beam search is that of the search itself."""

from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.config import DecodingConfig
from regard.decoding.beam_tree import BeamTree, record_beam_tree
from regard.decoding.loop import generate
from regard.special_tokens import END
from tests.support.small_models import Case, Small, cases, one_row

NAMES = ["rnn-lstm-unequal", "attending-general-feeding", "transformer-post-ssru-learned"]
searches = st.builds(
    DecodingConfig,
    beam_size=st.integers(1, 4),
    length_penalty=st.sampled_from([1.0, 0.0, 0.5]),
    max_length_extra=st.integers(1, 3),
).map(lambda config: config.with_options(nbest=config.beam_size))


def tokens_to(tree: BeamTree, index: int) -> list[int]:
    """The tokens of a node and of all nodes before it."""
    node = tree.nodes[index]
    return [*([] if node.parent is None else tokens_to(tree, node.parent)), node.token]


@pytest.mark.parametrize("small", [Small(name, torch.float64) for name in NAMES], ids=NAMES)
@given(case=cases(), config=searches)
@settings(max_examples=6)
def test_tree_holds_the_outputs_of_the_search(small: Small, case: Case, config: DecodingConfig) -> None:
    model, source = small.build(case.seed), one_row(case.source, 0)
    tree = record_beam_tree(model, source, config)
    [outputs] = generate(model, source, config)
    assert tree.outputs == outputs
    ends = {tuple(tokens_to(tree, at)): one for at, one in enumerate(tree.nodes) if one.state == "finished"}
    for output in outputs:
        path = (*output.tokens, END) if output.is_finished else tuple(output.tokens)
        assert ends[path].score == output.score
        assert ends[path].log_probability == output.log_probability
    best = [node.token for node in tree.nodes if node.is_best]
    assert best == [*outputs[0].tokens, *([END] if outputs[0].is_finished else [])]


@given(case=cases(), config=searches)
@settings(max_examples=6)
def test_every_step_keeps_at_most_the_beam(case: Case, config: DecodingConfig) -> None:
    model = Small(NAMES[0], torch.float64).build(case.seed)
    tree = record_beam_tree(model, one_row(case.source, 0), config)
    live = [at for at, one in enumerate(tree.nodes) if one.state != "finished"]
    assert max(Counter(len(tokens_to(tree, at)) for at in live).values(), default=0) <= config.beam_size
    parents = {one.parent for one in tree.nodes}
    for at, node in enumerate(tree.nodes):
        assert (node.state == "continued") == (at in parents)
        assert node.parent is None or node.parent < at
        assert node.parent is None or node.log_probability <= tree.nodes[node.parent].log_probability
