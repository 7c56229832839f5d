from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.batch_order import (
    CorpusWeight,
    EpochPlan,
    EpochPosition,
    batches,
    global_batches,
    plan_epoch,
    slice_for_rank,
)
from regard.errors import RegardError

MULTI30K = Path(__file__).parents[4] / "shared" / "data" / "multi30k"

lengths = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=300).map(
    lambda rows: np.array(rows, np.int32).T
)
budgets = st.integers(1, 400)
seeds = st.integers(0, 2**31 - 1)


def corpus(count: int = 20_000) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(7)
    sources = random.integers(1, 60, count)
    return sources, np.maximum(1, sources + random.integers(-4, 5, count))


def plan(sides: np.ndarray, budget: int, seed: int = 0, epoch: int = 0, *, is_mixed: bool = False) -> EpochPlan:
    return plan_epoch(sides[0], sides[1], batch_tokens=budget, seed=seed, epoch=epoch, bucket_by_length=not is_mixed)


@given(lengths, budgets, seeds, st.integers(0, 1000), st.booleans())
def test_each_pair_is_met_exactly_once_an_epoch(
    sides: np.ndarray, budget: int, seed: int, epoch: int, is_mixed: bool
) -> None:
    met = np.concatenate(list(batches(plan(sides, budget, seed, epoch, is_mixed=is_mixed))))
    assert sorted(met.tolist()) == list(range(sides.shape[1]))


weighted = st.tuples(lengths, st.floats(0.01, 4), st.floats(0.01, 4)).map(
    lambda drawn: (drawn[0], [CorpusWeight(drawn[0].shape[1], drawn[1]), CorpusWeight(7, drawn[2])])
)


@given(weighted, budgets, seeds, st.integers(0, 1000))
def test_weight_is_the_number_of_uses_an_epoch(
    drawn: tuple[np.ndarray, list[CorpusWeight]], budget: int, seed: int, epoch: int
) -> None:
    first, corpora = drawn
    sides = np.concatenate([first, np.full((2, 7), 3, np.int32)], axis=1)
    made = plan_epoch(*sides, batch_tokens=budget, seed=seed, epoch=epoch, corpora=corpora)
    uses = np.bincount(made.order, minlength=sides.shape[1])
    for own, (examples, weight) in zip(np.split(uses, [corpora[0].examples]), corpora, strict=True):
        assert set(own.tolist()) <= {int(weight), int(weight) + 1}
        assert own.sum() == max(1, int(weight) * examples + round(weight % 1 * examples))


def test_weights_of_one_leave_the_order_unchanged() -> None:
    sides = corpus(500)
    plain, weighted = (
        plan_epoch(*sides, batch_tokens=300, seed=4, epoch=2, corpora=corpora)
        for corpora in ((), [CorpusWeight(200, 1.0), CorpusWeight(300, 1.0)])
    )
    assert np.array_equal(plain.order, weighted.order)
    assert np.array_equal(plain.bounds, weighted.bounds)


def test_fraction_of_a_weight_draws_others_each_epoch() -> None:
    sides, corpora = corpus(400), [CorpusWeight(100, 1.0), CorpusWeight(300, 0.5)]
    epochs = [
        set(plan_epoch(*sides, batch_tokens=300, seed=0, epoch=epoch, corpora=corpora).order.tolist())
        for epoch in (0, 1, 1)
    ]
    assert epochs[1] == epochs[2] != epochs[0]
    assert all(set(range(100)) < epoch and len(epoch) == 250 for epoch in epochs)


@given(lengths, budgets, st.integers(0, 20))
def test_weighted_order_can_be_resumed_anywhere(sides: np.ndarray, budget: int, stop: int) -> None:
    half = sides.shape[1] // 2
    corpora = [CorpusWeight(half, 2.5), CorpusWeight(sides.shape[1] - half, 0.5)]
    whole = list(islice(global_batches(*sides, batch_tokens=budget, seed=1, corpora=corpora), stop + 10))
    start = whole[stop - 1].resume if stop else EpochPosition()
    rest = list(islice(global_batches(*sides, batch_tokens=budget, seed=1, corpora=corpora, start=start), 10))
    assert [batch.indices.tolist() for batch in rest] == [batch.indices.tolist() for batch in whole[stop:]]


@given(lengths, budgets)
def test_batch_keeps_the_budget_or_is_one_pair(sides: np.ndarray, budget: int) -> None:
    for indices in batches(plan(sides, budget)):
        assert len(indices) == 1 or len(indices) * (sides[:, indices].max() + 1) <= budget


def test_mixed_batches_have_similar_size_and_mixed_lengths() -> None:
    sides = np.stack(corpus())
    made = plan(sides, 2000, is_mixed=True)
    rows = np.diff(made.bounds)
    assert rows.max() == 2000 // round(float((sides + 1).max(axis=0).mean()))
    assert (rows != rows.max()).sum() <= 1  # what is left over
    spreads = [np.ptp(sides[0, indices]) for indices in batches(made)]
    assert np.median(spreads) > 50  # of 58 that there are
    assert made.non_padding_fraction < 0.6 < plan(sides, 2000).non_padding_fraction


@given(lengths, budgets, st.booleans())
def test_real_share_counts_both_sides_of_batches(sides: np.ndarray, budget: int, is_mixed: bool) -> None:
    made = plan(sides, budget, is_mixed=is_mixed)
    real = padded = 0
    for indices in batches(made):
        rows = sides[:, indices] + 1
        real += int(rows.sum())
        padded += len(indices) * int(rows.max(axis=1).sum())
    assert made.non_padding_fraction == real / padded


@given(lengths, budgets, seeds, st.data())
def test_rest_of_epoch_depends_on_cursor_alone(sides: np.ndarray, budget: int, seed: int, data: st.DataObject) -> None:
    whole = [indices.tolist() for indices in batches(plan(sides, budget, seed))]
    cursor = data.draw(st.integers(0, len(whole)))
    assert [indices.tolist() for indices in batches(plan(sides, budget, seed), start=cursor)] == whole[cursor:]


@given(lengths, budgets, seeds, st.integers(0, 20))
def test_stop_anywhere_resumes_the_same_batches(sides: np.ndarray, budget: int, seed: int, stop: int) -> None:
    whole = list(islice(global_batches(*sides, batch_tokens=budget, seed=seed), stop + 10))
    resume = whole[stop - 1].resume if stop else EpochPosition()
    rest = list(islice(global_batches(*sides, batch_tokens=budget, seed=seed, start=resume), 10))
    for expected, found in zip(whole[stop:], rest, strict=True):
        assert (found.epoch, found.resume) == (expected.epoch, expected.resume)
        assert found.indices.tolist() == expected.indices.tolist()


@given(st.integers(0, 200), st.integers(1, 9))
def test_the_ranks_slices_make_up_the_batch(count: int, world: int) -> None:
    indices = np.random.default_rng(count).permutation(1000)[:count]
    slices = [slice_for_rank(indices, rank, world) for rank in range(world)]
    assert sorted(np.concatenate(slices).tolist()) == sorted(indices.tolist())
    sizes = [len(part) for part in slices]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(("rank", "world"), [(-1, 2), (2, 2), (0, 0)])
def test_a_rank_outside_its_world_is_a_defect(rank: int, world: int) -> None:
    with pytest.raises(ValueError, match=f"rank is {rank}"):
        slice_for_rank(np.arange(4), rank, world)


def test_an_epoch_after_another_holds_every_pair_again() -> None:
    sides = corpus(500)
    drawn = global_batches(*sides, batch_tokens=1000, seed=0)
    met: dict[int, list[int]] = {0: [], 1: [], 2: []}
    while (batch := next(drawn)).epoch < 3:
        met[batch.epoch] += batch.indices.tolist()
    assert all(sorted(indices) == list(range(500)) for indices in met.values())
    assert met[0] != met[1]


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint16])
def test_order_ignores_how_lengths_are_stored(dtype: type) -> None:
    sources, targets = corpus(2000)
    expected = plan_epoch(sources, targets, batch_tokens=2000, seed=0, epoch=0)
    found = plan_epoch(sources.astype(dtype), targets.astype(dtype), batch_tokens=2000, seed=0, epoch=0)
    assert np.array_equal(found.order, expected.order)
    assert np.array_equal(found.bounds, expected.bounds)


def test_seed_and_epoch_change_batch_composition() -> None:
    sides = np.stack(corpus())
    groups = [
        {frozenset(indices.tolist()) for indices in batches(plan(sides, 2048, seed, epoch))}
        for seed, epoch in [(0, 0), (0, 1), (1, 0)]
    ]
    for first, second in [(0, 1), (0, 2), (1, 2)]:
        assert len(groups[first] & groups[second]) < len(groups[first]) / 20


def test_long_and_short_batches_alternate_over_the_epoch() -> None:
    sides = np.stack(corpus())
    means = np.array([sides[0, indices].mean() for indices in batches(plan(sides, 2048))])
    quarters = np.array([quarter.mean() for quarter in np.array_split(means, 4)])
    assert means.std() > 10  # the batches differ much in length
    assert quarters.std() < 5  # the parts of an epoch differ little
    assert abs(np.corrcoef(means[:-1], means[1:])[0, 1]) < 0.2


def test_little_of_a_batch_is_padding() -> None:
    sides = np.stack(corpus(50_000))
    assert plan(sides, 4096).non_padding_fraction > 0.9
    random_rows = 4096 // 60
    chunks = [sides[:, start : start + random_rows] + 1 for start in range(0, 50_000, random_rows)]
    unsorted_share = sum(chunk.sum() for chunk in chunks) / sum(
        (chunk.max(1) * chunk.shape[1]).sum() for chunk in chunks
    )
    assert unsorted_share < 0.6


@pytest.mark.skipif(not MULTI30K.exists(), reason="Multi30k is not on this machine")
@pytest.mark.parametrize("budget", [4096, 8192])
@pytest.mark.parametrize("language", ["de", "fr"])
def test_nine_tenths_of_multi30k_batches_are_real(budget: int, language: str) -> None:
    sides = [
        np.array([len(line.split()) for line in (MULTI30K / f"train.lc.tok.{code}").read_bytes().split(b"\n")[:-1]])
        for code in ("en", language)
    ]
    assert plan(np.stack(sides), budget).non_padding_fraction >= 0.93


def test_no_pairs_are_an_error_and_empty_plan() -> None:
    nothing = np.zeros(0, np.int32)
    empty = plan_epoch(nothing, nothing, batch_tokens=10, seed=0, epoch=0)
    assert (len(empty), empty.non_padding_fraction) == (0, 1.0)
    with pytest.raises(RegardError, match="no pairs"):
        next(global_batches(nothing, nothing, batch_tokens=10, seed=0))


def test_a_position_from_other_data_is_an_error() -> None:
    sides = corpus(100)
    with pytest.raises(RegardError, match=r"epoch 2 has .* batches, but the run stopped after batch 5,000"):
        next(global_batches(*sides, batch_tokens=1000, seed=0, start=EpochPosition(2, 5000)))


@pytest.mark.parametrize("batch", [-1, 10_000])
def test_a_batch_outside_the_plan_is_an_error(batch: int) -> None:
    with pytest.raises(IndexError, match=f"batch {batch} of"):
        plan(np.stack(corpus(100)), 500)[batch]
