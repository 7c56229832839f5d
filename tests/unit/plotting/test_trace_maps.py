"""Which map is drawn: layer, head, mean, words or pieces, when a word is output or input."""

import numpy as np
import pytest

from regard.errors import RegardError
from regard.plotting.attention_map import MapSelection, select_map
from regard.tracing.arithmetic import AttentionArrays, AttentionLayerInfo
from regard.tracing.trace import TokenSequence, Trace

SOURCE, TARGET = ["▁un", "seen", "▁things", "</s>"], ["<s>", "▁본", "▁것", "들"]


def layer(use: str, number: int, weights: np.ndarray) -> tuple[AttentionLayerInfo, AttentionArrays]:
    described = AttentionLayerInfo(
        name=f"{use}.{number}",
        role=use,  # type: ignore[arg-type]
        layer=number,
        heads=len(weights),
        score="scaled_dot",
        queries="source" if use == "encoder-self" else "target",
        keys="target" if use == "decoder-self" else "source",
        deviation=0.0,
    )
    arrays = dict.fromkeys(("x", "key_inputs", "query", "key", "value", "scores", "context", "output"), weights[0])
    numbers = AttentionArrays(
        **arrays,
        weights=weights,
        visible=weights > 0,
        projections={},
        scale=1.0,
        is_rotary=False,
        rotary_base=10_000.0,
        score_parameters={},
    )
    return described, numbers


@pytest.fixture(scope="module")
def trace() -> Trace:
    chance = np.random.default_rng(5)
    layers = [
        layer(use, number, chance.dirichlet(np.ones(4), size=(2, 4)).astype(np.float32))
        for use, number in (("encoder-self", 0), ("decoder-self", 0), ("cross", 0), ("cross", 1))
    ]
    described, numbers = (list(part) for part in zip(*layers, strict=True))
    return Trace(
        TokenSequence.from_pieces(SOURCE), TokenSequence.from_pieces(TARGET), "본 것들", [-1.0] * 4, described, numbers
    )


def test_cross_attention_rows_are_labelled_by_output_tokens(trace: Trace) -> None:
    output = select_map(trace, MapSelection(unit="pieces", layer=1, head=0))
    assert (output.rows, output.columns) == (["▁본", "▁것", "들", "</s>"], SOURCE)
    assert (output.weights == trace.weights(3, 0)).all()
    read = select_map(trace, MapSelection(unit="pieces", layer=1, head=0, at="input"))
    assert (read.rows, read.columns) == (TARGET, SOURCE)
    assert (read.weights == output.weights).all()


def test_byte_that_spells_a_letter_shows_the_letter() -> None:
    pieces = ["▁", "<0x4E>", "ine", "<0xEA>", "</s>"]
    described, numbers = layer("encoder-self", 0, np.full((1, 5, 5), 0.2, dtype=np.float32))
    trace = Trace(
        TokenSequence.from_pieces(pieces), TokenSequence.from_pieces(TARGET), "", [-1.0] * 4, [described], [numbers]
    )
    shown = ["▁", "‹N›", "ine", "<0xEA>", "</s>"]  # the fourth spells a letter only with others
    assert select_map(trace, MapSelection("encoder-self", unit="pieces")).rows == shown


def test_words_sum_over_keys_and_average_over_queries(trace: Trace) -> None:
    pieces = select_map(trace, MapSelection(unit="pieces")).weights
    words = select_map(trace, MapSelection())
    assert (words.rows, words.columns) == (["본", "것들", "</s>"], ["unseen", "things", "</s>"])
    assert words.weights[1, 0] == pytest.approx(pieces[1:3, 0:2].sum() / 2, abs=1e-6)
    assert words.weights.sum(axis=1) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("choice", "labels", "index"),
    [(MapSelection("encoder-self"), SOURCE, 0), (MapSelection("decoder-self"), TARGET, 1)],
)
def test_self_attention_has_equal_labels_on_both_sides(
    trace: Trace, choice: MapSelection, labels: list[str], index: int
) -> None:
    drawn = select_map(trace, MapSelection(choice.role, unit="pieces"))
    assert drawn.rows == drawn.columns == labels
    assert drawn.weights == pytest.approx(trace.arrays[index].weights.mean(axis=0), abs=1e-6)


def test_mean_over_layers_and_heads_has_a_subtitle(trace: Trace) -> None:
    both = np.stack([trace.arrays[2].weights, trace.arrays[3].weights])
    mean = select_map(trace, MapSelection(unit="pieces"))
    assert mean.weights == pytest.approx(both.mean(axis=(0, 1)), abs=1e-6)
    assert mean.subtitle == "cross-attention: mean of 2 heads, mean of 2 layers"
    assert select_map(trace, MapSelection(layer=0, head=1)).subtitle == "cross-attention: layer 1, head 2"
    one_head = select_map(trace, MapSelection(head=1, unit="pieces"))
    assert one_head.weights == pytest.approx(both[:, 1].mean(axis=0), abs=1e-6)
    assert one_head.subtitle == "cross-attention: head 2, mean of 2 layers"


@pytest.mark.parametrize(
    ("choice", "problem"),
    [
        (MapSelection(layer=2), "no layer 3; cross-attention has 2"),
        (MapSelection(head=2), "no head 3; each layer of cross-attention has 2"),
        (MapSelection("image-cross"), "has encoder-self, decoder-self, cross"),
    ],
)
def test_missing_choice_is_refused_with_existing_ones(trace: Trace, choice: MapSelection, problem: str) -> None:
    with pytest.raises(RegardError, match=problem):
        select_map(trace, choice)
