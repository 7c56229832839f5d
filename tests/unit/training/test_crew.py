"""Threads that share a batch: the same gradients as one thread, the same bits each time."""

from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from regard.cpu_speedups import MicrobatchThreads, microbatch_thread_count, share_parameters
from regard.data.batch_order import EpochPosition
from regard.training.corpora import rank_batches
from regard.training.step import ThroughputMeter, Trainer, _backward, create_trainer, train_step
from tests.support.small_images import ATTENDING as CAPTIONER
from tests.support.small_images import picture_config, write_scenes
from tests.support.small_run import TRANSFORMER, corpus_of, small_config, write_pairs

ATTENDING = {"kind": "rnn-attention", "embedding_width": 8, "encoder": {"width": 8}, "decoder": {"width": 8}}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write_pairs(tmp_path)
    return tmp_path


def begun(data: Path, model: dict[str, Any], *, size: int, **training: Any) -> Trainer:
    config = small_config(data, model=model, **training)
    trainer = create_trainer(config, data / "run", corpus_of(config, data / "run"))
    trainer.microbatches = MicrobatchThreads(size, trainer.objective)
    return trainer


def some_steps(trainer: Trainer, count: int) -> dict[str, torch.Tensor]:
    drawn = rank_batches(trainer.corpus, trainer.config, EpochPosition(), device="cpu", parts=trainer.microbatches.size)
    for _ in range(count):
        train_step(trainer, list(islice(drawn, trainer.config.training.gradient_accumulation)), ThroughputMeter(0.0))
    return {name: value.detach().clone() for name, value in trainer.model.named_parameters()}


def gradients(trainer: Trainer) -> tuple[float, dict[str, torch.Tensor]]:
    drawn = list(
        islice(
            rank_batches(
                trainer.corpus, trainer.config, EpochPosition(), device="cpu", parts=trainer.microbatches.size
            ),
            2,
        )
    )
    loss = _backward(trainer, drawn, sum(one.tokens for one in drawn))
    return loss, {
        name: value.grad.clone() for name, value in trainer.model.named_parameters() if value.grad is not None
    }


@pytest.mark.parametrize("model", [TRANSFORMER, ATTENDING], ids=["transformer", "attending"])
@pytest.mark.parametrize("size", [2, 3])
def test_micro_batches_have_the_gradients_of_the_whole(data: Path, model: dict[str, Any], size: int) -> None:
    loss, expected = gradients(begun(data, model | {"dropout": 0.0}, size=1))
    loss_by_parts, found = gradients(begun(data, model | {"dropout": 0.0}, size=size))
    assert loss_by_parts == pytest.approx(loss, rel=1e-6)
    assert found.keys() == expected.keys()
    for name, gradient in expected.items():
        torch.testing.assert_close(found[name], gradient, rtol=1e-5, atol=1e-7)


def test_fewer_rows_than_threads_give_fewer_parts(data: Path) -> None:
    trainer = begun(data, TRANSFORMER, size=4, batch_tokens=8)
    drawn = list(islice(rank_batches(trainer.corpus, trainer.config, EpochPosition(), device="cpu", parts=4), 30))
    assert {len(one.parts) for one in drawn} < {1, 2, 3, 4}
    some_steps(trainer, 5)


def test_two_runs_with_dropout_are_bitwise_equal(data: Path) -> None:
    runs = [
        some_steps(begun(data, TRANSFORMER | {"dropout": 0.5}, size=2, gradient_accumulation=2), 6) for _ in range(2)
    ]
    assert all(torch.equal(runs[0][name], runs[1][name]) for name in runs[0])


def test_each_thread_drops_different_elements(data: Path) -> None:
    """Two equal parts: were they dropped alike, the gradient would be twice that of one."""
    trainer = begun(data, TRANSFORMER | {"dropout": 0.5}, size=2)
    [batch] = next(rank_batches(trainer.corpus, trainer.config, EpochPosition(), device="cpu")).parts

    def gradient(parts: int) -> torch.Tensor:
        trainer.microbatches.seed(1)
        trainer.optimizer.zero_grad()
        trainer.microbatches.add_gradients([batch] * parts, lambda objective, part: objective(part))
        return torch.cat([one.grad.flatten() for one in trainer.model.parameters() if one.grad is not None])

    assert torch.equal(gradient(1), gradient(1))
    assert not torch.allclose(gradient(2), 2 * gradient(1), rtol=1e-2)


def test_torch_threads_are_restored_even_on_failure(data: Path) -> None:
    trainer = begun(data, TRANSFORMER, size=2)
    [batch] = next(rank_batches(trainer.corpus, trainer.config, EpochPosition(), device="cpu")).parts

    def failing(_objective: object, _part: object) -> torch.Tensor:
        raise MemoryError("as if")

    torch.set_num_threads(2)
    try:
        some_steps(trainer, 1)
        assert torch.get_num_threads() == 2
        with pytest.raises(MemoryError, match="as if"):
            trainer.microbatches.add_gradients([batch, batch], failing)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)


def test_run_with_two_threads_uses_two_workers(data: Path) -> None:
    config = small_config(data, threads=2)
    try:
        assert create_trainer(config, data / "run", corpus_of(config, data / "run")).microbatches.size == 2
    finally:
        torch.set_num_threads(1)


def test_of_many_cores_some_split_products(data: Path) -> None:
    model = begun(data, TRANSFORMER, size=1).model
    assert microbatch_thread_count(model, threads=16, device="cpu", sharded=False) == 4
    torch.set_num_threads(5)
    try:
        assert MicrobatchThreads(2, model).threads_each == 2
    finally:
        torch.set_num_threads(1)
    assert MicrobatchThreads(2, model).threads_each == 1


def test_models_that_threads_cannot_share_use_one(data: Path) -> None:
    def size(model: nn.Module, *, device: str = "cpu", sharded: bool = False) -> int:
        return microbatch_thread_count(model, threads=2, device=device, sharded=sharded)

    plain = begun(data, TRANSFORMER, size=1).model
    assert size(plain) == 2
    assert size(plain, device="cuda:0") == size(plain, sharded=True) == 1
    for dropping in (TRANSFORMER | {"attention_dropout": 0.1}, ATTENDING | {"encoder": {"width": 8, "layers": 2}}):
        assert size(begun(data, dropping, size=1).model) == 1  # these draw from torch's one generator


def test_running_means_use_first_part_and_repeat(tmp_path: Path) -> None:
    config = picture_config(write_scenes(tmp_path / "world"), model=CAPTIONER)
    ended = []
    for _ in range(2):
        trainer = create_trainer(config, tmp_path / "run", corpus_of(config, tmp_path / "run"))
        trainer.microbatches = MicrobatchThreads(2, trainer.objective)
        some_steps(trainer, 3)
        ended.append({name: value.clone() for name, value in trainer.model.state_dict().items()})
    assert all(torch.equal(ended[0][name], ended[1][name]) for name in ended[0])
    seen = [value for name, value in ended[0].items() if name.endswith("num_batches_tracked")]
    assert seen
    assert all(value == 3 for value in seen)


def test_a_copy_shares_its_parameters_and_nothing_else() -> None:
    module = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    copied = share_parameters(module)
    assert all(one is other for one, other in zip(module.parameters(), copied.parameters(), strict=True))
    assert not any(one is other for one, other in zip(module.buffers(), copied.buffers(), strict=True))
