from math import log

import pytest
import torch

from regard.attention.recording import record_attention
from regard.batch import source_of
from regard.config import DecodingConfig
from regard.decoding.coverage import coverage
from regard.decoding.loop import generate, steps
from regard.decoding.rescoring import rescore
from regard.errors import RegardError
from tests.decoding.reciter import Reciter
from tests.laws.small_models import CAPTIONERS, GENERATORS, LOOKERS, Small

SOURCE = [[5, 6, 7, 8], [9, 10]]


def test_two_outputs_over_three_source_words_by_hand() -> None:
    weights = torch.tensor([[[0.5, 0.25, 0.25], [0.75, 0.25, 0.0]]])
    said = torch.tensor([[True, True]])
    real = torch.tensor([[True, True, True]])
    assert coverage(weights, said, real).item() == pytest.approx(log(0.5) + log(0.25))  # the first word is full: log 1
    assert coverage(weights, said, torch.tensor([[True, True, False]])).item() == pytest.approx(log(0.5))
    only_first = torch.tensor([[True, False]])
    assert coverage(weights, only_first, real).item() == pytest.approx(log(0.5) + log(0.25) + log(0.25))


def test_all_covered_costs_nothing_and_nothing_covered_is_finite() -> None:
    said, real = torch.ones(1, 3, dtype=torch.bool), torch.ones(1, 3, dtype=torch.bool)
    assert coverage(torch.eye(3)[None], said, real).item() == 0.0
    assert coverage(torch.zeros(1, 3, 3), said, real).isfinite().all()


@pytest.mark.parametrize("name", LOOKERS[::4])
def test_scores_are_lowered_by_what_the_finished_outputs_left_uncovered(name: str) -> None:
    model, source = Small(name, torch.float64).build(7), source_of(SOURCE)
    plain = DecodingConfig(beam=3, nbest=3, length_ratio=0, length_extra=4)
    covered = DecodingConfig(beam=3, nbest=3, length_ratio=0, length_extra=4, coverage=0.7)
    *_, search = steps(model, source, plain)
    for sentence, found in enumerate(generate(model, source, covered)):
        expected = []
        for one in search.ended[sentence]:
            looked_at = attended(model, SOURCE[sentence], one.tokens)[: len(one.tokens) + one.is_ended].sum(dim=0)
            expected.append((one.score + 0.7 * float(looked_at.clamp(max=1).log().sum()), one.tokens))
        expected = sorted(expected, reverse=True)[:3]
        assert [one.score for one in found] == pytest.approx([score for score, _ in expected])
        assert [one.tokens for one in found] == [tokens for _, tokens in expected]


def test_a_word_that_was_said_with_certainty_covers_too() -> None:
    model, source = Small("attending-additive-previous", torch.float32).build(7), source_of(SOURCE)
    with torch.no_grad():
        model.output.bias[7] = 1e4  # it has all of the probability, the logarithm of which is exactly zero
    plain, covered = (DecodingConfig(beam=1, length_extra=2, length_ratio=0, coverage=each) for each in (0.0, 1.0))
    for sentence, (before, after) in enumerate(
        zip(generate(model, source, plain), generate(model, source, covered), strict=True)
    ):
        assert before[0].log_probability == 0.0
        looked_at = attended(model, SOURCE[sentence], before[0].tokens)[: len(before[0].tokens) + before[0].is_ended]
        expected = float(looked_at.sum(dim=0).clamp(max=1).log().sum())
        assert after[0].score == pytest.approx(expected, abs=1e-4)


def test_coverage_is_off_unless_asked_for() -> None:
    model = Small("rnn-gru", torch.float64).build(7)  # it has no attention, so that asking for coverage would fail
    (best,), *_ = generate(model, source_of(SOURCE), DecodingConfig(length_ratio=0, length_extra=4))
    assert best.score == pytest.approx(best.log_probability / (len(best.tokens) + best.is_ended))


@pytest.mark.parametrize("name", [name for name in GENERATORS if name not in (*LOOKERS, *CAPTIONERS)][::3])
def test_a_model_that_does_not_look_at_its_source_is_refused(name: str) -> None:
    model = Small(name, torch.float32).build(7)
    with pytest.raises(RegardError, match=r"no attention over its source.*set decoding\.coverage to 0"):
        generate(model, source_of(SOURCE), DecodingConfig(coverage=0.5, length_ratio=0, length_extra=2))


def test_what_cannot_be_recorded_is_refused() -> None:
    with pytest.raises(RegardError, match=r"set decoding\.coverage to 0"):
        generate(Reciter(), source_of(SOURCE), DecodingConfig(coverage=0.5))


def attended(model: torch.nn.Module, source: list[int], tokens: list[int]) -> torch.Tensor:
    """Mean weights over the source for each token and END, of one sentence by itself."""
    with record_attention(model) as recording:
        rescore(model, source_of([source]), [tokens], sentences=[0])
    maps = [layer["weights"][0] for name, layer in recording.layers.items() if "cross_attention" in name]
    return torch.stack([layer.mean(dim=0) for layer in maps]).mean(dim=0)
