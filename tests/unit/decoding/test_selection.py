import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from regard.config import DecodingConfig
from regard.decoding.selection import filter_logits, make_selector, select_by_sampling, select_top_k

BATCH, BEAM, VOCABULARY = 2, 3, 7

seeds = st.integers(0, 2**31 - 1)


def log_probabilities(seed: int, *shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (2 * torch.randn(shape, generator=generator)).log_softmax(dim=-1)


@given(seeds, st.sampled_from([VOCABULARY, 16, 100, 333, 640]), st.integers(1, BEAM), st.booleans())
def test_the_best_candidates_are_the_best_of_all(seed: int, vocabulary: int, beam: int, has_ties: bool) -> None:
    likely, running = log_probabilities(seed, BATCH, beam, vocabulary), log_probabilities(seed + 1, BATCH, beam)
    if has_ties:
        likely = likely.round()
    running[0, 1:] = float("-inf")  # as before the first word, when all hypotheses are the same
    choice = select_top_k(likely, running)
    totals = (running.unsqueeze(-1) + likely).flatten(1)
    assert torch.equal(choice.scores, totals.topk(min(2 * beam, totals.shape[1])).values)
    places = choice.parents * vocabulary + choice.tokens
    assert torch.equal(totals.gather(1, places), choice.scores)
    assert all(len(set(row)) == len(row) for row in places.tolist())


def test_vocabulary_smaller_than_beam_gives_all_tokens() -> None:
    choice = select_top_k(log_probabilities(0, 1, 5, 1), log_probabilities(1, 1, 5))
    assert sorted(choice.parents[0].tolist()) == [0, 1, 2, 3, 4]


@given(seeds, st.integers(1, VOCABULARY + 2))
def test_top_k_keeps_the_k_most_likely(seed: int, top_k: int) -> None:
    logits = log_probabilities(seed, BATCH, VOCABULARY)
    kept = filter_logits(logits, top_k=top_k)
    for row in range(BATCH):
        likeliest = logits[row].argsort(descending=True)[:top_k]
        assert set(kept[row].isfinite().nonzero().flatten().tolist()) == set(likeliest.tolist())
        assert torch.equal(kept[row, likeliest], logits[row, likeliest])


@given(seeds, st.floats(0.01, 0.99))
def test_top_p_keeps_the_fewest_holding_its_mass(seed: int, top_p: float) -> None:
    logits = log_probabilities(seed, BATCH, VOCABULARY)
    for row, kept in enumerate(filter_logits(logits, top_p=top_p)):
        held, left = logits[row][kept.isfinite()].exp(), logits[row][~kept.isfinite()].exp()
        assert float(held.sum()) >= top_p - 1e-6
        assert float(held.sum() - held.min()) < top_p + 1e-6  # one fewer would not do
        assert not len(left) or left.max() <= held.min()


@given(seeds, st.integers(1, VOCABULARY), st.floats(0.01, 0.99))
def test_top_p_applies_after_top_k(seed: int, top_k: int, top_p: float) -> None:
    logits = log_probabilities(seed, BATCH, VOCABULARY)
    after = filter_logits(filter_logits(logits, top_k=top_k), top_p=top_p)
    assert torch.equal(filter_logits(logits, top_k=top_k, top_p=top_p), after)
    assert torch.equal(after.argmax(dim=-1), logits.argmax(dim=-1))  # the likeliest is kept whatever the bounds


@given(seeds)
def test_without_limits_all_tokens_are_kept(seed: int) -> None:
    logits = log_probabilities(seed, BATCH, VOCABULARY)
    assert torch.equal(filter_logits(logits), logits)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
@pytest.mark.parametrize(("top_k", "top_p"), [(0, 1.0), (3, 1.0), (0, 0.7)])
def test_tokens_are_sampled_in_proportion_to_probability(temperature: float, top_k: int, top_p: float) -> None:
    draws = 40_000
    likely = log_probabilities(5, 1, 1, VOCABULARY)
    config = DecodingConfig(do_sample=True, temperature=temperature, top_k=top_k, top_p=top_p)
    torch.manual_seed(11)
    choice = select_by_sampling(likely.expand(-1, draws, -1), torch.zeros(1, draws), config=config)
    shares = choice.tokens.flatten().bincount(minlength=VOCABULARY) / draws
    expected = filter_logits(likely[0, 0] / temperature, top_k=top_k, top_p=top_p).softmax(dim=-1)
    assert (shares[expected == 0] == 0).all()
    deviations = (expected * (1 - expected) / draws).sqrt()
    assert ((shares - expected).abs() <= 4 * deviations).all()


@given(seeds, st.sampled_from([1e-3, 1e-30, 1e-300]))
def test_low_temperature_samples_the_most_likely(seed: int, temperature: float) -> None:
    likely = log_probabilities(seed, BATCH, BEAM, VOCABULARY)
    config = DecodingConfig(do_sample=True, temperature=temperature)
    choice = select_by_sampling(likely, torch.zeros(BATCH, BEAM), config=config)
    best, second = likely.topk(2, dim=-1).values.unbind(dim=-1)
    is_clear = best - second > 0.05  # else the second may be drawn at the warmest of the temperatures
    assert torch.equal(choice.tokens[is_clear], likely.argmax(dim=-1)[is_clear])


@given(seeds, st.floats(0.1, 5.0), st.integers(1, VOCABULARY))
def test_sampled_token_keeps_the_model_score(seed: int, temperature: float, top_k: int) -> None:
    likely, running = log_probabilities(seed, BATCH, BEAM, VOCABULARY), log_probabilities(seed + 1, BATCH, BEAM)
    choice = select_by_sampling(likely, running, config=DecodingConfig(temperature=temperature, top_k=top_k))
    assert torch.equal(choice.parents, torch.arange(BEAM).expand(BATCH, -1))
    drawn = likely.gather(-1, choice.tokens[..., None])[..., 0]
    assert torch.equal(choice.scores, running + drawn)


def test_config_decides_the_selection() -> None:
    likely, running = log_probabilities(0, BATCH, BEAM, VOCABULARY), torch.zeros(BATCH, BEAM)
    assert make_selector(DecodingConfig()) is select_top_k
    drawn = make_selector(DecodingConfig(do_sample=True, top_k=1))(likely, running)
    assert torch.equal(drawn.tokens, likely.argmax(dim=-1))
