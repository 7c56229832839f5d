"""Side by side or one after the other: the same text, and torch's threads as they were."""

from collections.abc import Iterator

import pytest
import torch

from regard.config import DecodingConfig, TransformerConfig, TransformerStackConfig
from regard.inference import torch_engine
from regard.inference.interface import DecodedRows, batches_by_length
from regard.inference.torch_engine import TorchEngine
from tests.support.random_translators import SOURCE, random_translator, texts

STACK = TransformerStackConfig(layers=1, width=24, heads=2, ffn_width=20)
ROWS = [SOURCE.encode(text) for text in texts(30)]


@pytest.fixture
def one_thread() -> Iterator[None]:
    """A product that is split among threads is rounded otherwise."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def by_place(batches: list[DecodedRows]) -> dict[int, list[tuple[list[int], float]]]:
    """The tokens and scores of each row, to nine digits: rows of another batch are added up in another order."""
    pairs = [pair for finished in batches for pair in zip(finished.indices, finished.hypotheses, strict=True)]
    return {place: [(one.tokens, round(one.score, 9)) for one in own] for place, own in pairs}


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(
    "config", [DecodingConfig(beam_size=1), DecodingConfig(beam_size=3, nbest=2)], ids=["greedy", "beam"]
)
def test_parallel_batches_equal_sequential_batches(config: DecodingConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = random_translator(TransformerConfig(encoder=STACK, decoder=STACK, norm="pre"))
    bundle.model.double()  # in double precision a batch does not change what a row computes
    monkeypatch.setattr(torch_engine, "BATCH_TOKENS", 60)
    engine = TorchEngine(bundle.model)
    in_turn = [finished for finished in engine.decode(ROWS, config) if finished.indices]
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    counts: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", counts.append)
    side_by_side = list(engine.decode(ROWS, config))
    assert by_place(side_by_side) == by_place(in_turn)
    assert len(in_turn) > 3
    assert (set(counts), counts[-1]) == ({1, 3}, 3)
    assert len(counts) > 1


def test_sampling_runs_sequentially(monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = random_translator(TransformerConfig(encoder=STACK, decoder=STACK, norm="pre"))
    monkeypatch.setattr(torch_engine, "BATCH_TOKENS", 60)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    found = []
    for _ in range(2):
        torch.manual_seed(4)
        found.append(list(TorchEngine(bundle.model).decode(ROWS, DecodingConfig(beam_size=1, do_sample=True))))
    assert found[0] == found[1]


@pytest.mark.parametrize("beam", [1, 5])
@pytest.mark.parametrize(("rows", "threads", "batches"), [(20, 8, 1), (1000, 1, 2), (1000, 2, 4), (10_000, 2, 16)])
def test_batches_are_large_and_enough_for_all_workers(
    rows: int, threads: int, batches: int, beam: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of sixteen tokens a row, divided by the beam's width, so that a beam has the same batches."""
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    engine = TorchEngine(random_translator(TransformerConfig(encoder=STACK, decoder=STACK)).model)
    given = [[5] * 15 for _ in range(rows // beam)]
    budget = engine._token_budget(given, DecodingConfig(beam_size=beam))
    found = list(batches_by_length(given, budget))
    assert batches <= len(found) <= 1.3 * batches + 1
