"""Products in bfloat16: where they are taken, that every model can be trained in them, and what stays in float32."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

from regard.attention.key_value_cache import KeyValues
from regard.attention.multi_head import MultiHeadAttention
from regard.batch import Batch, PaddedTokens
from regard.config import TrainingConfig
from regard.layers.recurrent import CELLS
from regard.training.events import TrainingStarted, Validated
from regard.training.objective import compute_loss
from regard.training.step import autocast_context, compute_dtype, create_trainer, supports_bfloat16
from tests.support.small_images import picture_config, write_scenes
from tests.support.small_models import GENERATORS, Case, Small
from tests.support.small_run import corpus_of, run_to_the_end, small_config, with_training, write_pairs

NARROW = TrainingConfig(precision="bfloat16")


@pytest.mark.parametrize("has_instructions", [True, False])
def test_auto_chooses_bfloat16_on_supporting_processors(
    has_instructions: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    has = {"avx2": True, "avx512_bf16": has_instructions}
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: has)
    assert supports_bfloat16("cpu") == has_instructions
    assert compute_dtype(TrainingConfig(), "cpu") == (torch.bfloat16 if has_instructions else torch.float32)
    assert compute_dtype(TrainingConfig(precision="float32"), "cpu") == torch.float32
    assert compute_dtype(NARROW, "cpu") == torch.bfloat16
    assert compute_dtype(TrainingConfig(), "mps") == torch.float32  # it is the processor's gift alone


def loss_and_gradient(model: nn.Module, batch: Batch, options: TrainingConfig) -> tuple[float, torch.Tensor]:
    model.zero_grad()
    with autocast_context(options, "cpu"):
        loss = compute_loss(model, batch, smoothing=0.1)
    loss.backward()  # type: ignore[no-untyped-call]
    gradients = [weight.grad for weight in model.parameters() if weight.grad is not None]
    assert all(gradient.dtype == torch.float32 for gradient in gradients)
    return loss.item(), torch.cat([gradient.flatten() for gradient in gradients])


@pytest.mark.parametrize("name", GENERATORS)
def test_every_model_has_nearly_equal_loss_and_gradient(name: str) -> None:
    small, case = Small(name, torch.float32), Case((4, 2), (3, 4), seed=5)
    model = small.build(3)
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(0.4)  # as large as those of a trained model, so that rounding does not decide between words
    outputs = PaddedTokens.from_rows([[*row, 2] for row in case.target.tokens[:, 1:].tolist()])
    batch = Batch(small.source(case), case.target, outputs)
    loss, gradient = loss_and_gradient(model, batch, TrainingConfig(precision="float32"))
    rounded_loss, rounded = loss_and_gradient(model, batch, NARROW)
    assert rounded_loss == pytest.approx(loss, rel=0.02)
    assert (rounded - gradient).norm() < 0.1 * gradient.norm()
    assert not torch.equal(rounded, gradient)


def test_attention_on_a_processor_stays_in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, seen = MultiHeadAttention(12, 2), []
    kernel = nn.functional.scaled_dot_product_attention

    def watched(*inputs: torch.Tensor, **options: float) -> torch.Tensor:
        seen.append(({tensor.dtype for tensor in inputs[:3]}, torch.is_autocast_enabled("cpu")))
        return kernel(*inputs, **options)

    monkeypatch.setattr(nn.functional, "scaled_dot_product_attention", watched)
    with autocast_context(NARROW, "cpu"):
        key_values: KeyValues = layer.key_values(torch.randn(1, 3, 12))
        found = layer(torch.randn(1, 2, 12), key_values)
    assert key_values.key.dtype == found.dtype == torch.bfloat16  # products around it are in bfloat16
    assert seen == [({torch.float32}, False)]


def weights(run: Path) -> bytes:
    return (run / "model" / "model.safetensors").read_bytes()


@pytest.fixture
def one_thread_afterwards() -> Iterator[None]:
    yield
    torch.set_num_threads(1)


@pytest.mark.usefixtures("one_thread_afterwards")
@pytest.mark.parametrize("threads", [1, 2])
def test_bfloat16_run_is_reported_and_resumes_bitwise(tmp_path: Path, threads: int) -> None:
    write_pairs(tmp_path)
    config = small_config(tmp_path, precision="bfloat16", threads=threads)
    began, *_ = run_to_the_end(config, tmp_path / "whole")
    assert isinstance(began, TrainingStarted)
    assert began.precision == "bfloat16"
    run_to_the_end(with_training(config, steps=6), tmp_path / "parts")
    run_to_the_end(config, tmp_path / "parts", resume=True)
    assert weights(tmp_path / "whole") == weights(tmp_path / "parts")
    run_to_the_end(with_training(config, precision="float32"), tmp_path / "wide")
    assert weights(tmp_path / "whole") != weights(tmp_path / "wide")


def test_a_model_learns_in_bfloat16(tmp_path: Path) -> None:
    write_pairs(tmp_path)
    config = small_config(tmp_path, precision="bfloat16", steps=60, validate_every=60, learning_rate=0.01)
    loss = [event.loss for event in run_to_the_end(config, tmp_path / "run") if isinstance(event, Validated)]
    assert loss[-1] < 2.9  # ln(25 pieces) = 3.2 is a model that knows nothing


@pytest.mark.usefixtures("one_thread_afterwards")
def test_microbatch_threads_train_a_captioner_bitwise_repeatably(tmp_path: Path) -> None:
    config = picture_config(write_scenes(tmp_path), precision="bfloat16", threads=2)
    for run in ("one", "other"):
        run_to_the_end(config, tmp_path / run)
    assert create_trainer(config, tmp_path / "one", corpus_of(config, tmp_path / "one")).microbatches.size == 2
    assert weights(tmp_path / "one") == weights(tmp_path / "other")


def test_single_cell_steps_keep_no_rounded_weights() -> None:
    layer, kept = CELLS["lstm"](6, 8, batch_first=True), []
    state = (torch.zeros(1, 2, 8), torch.zeros(1, 2, 8))
    watched = torch.autograd.graph.saved_tensors_hooks(lambda tensor: kept.append(tensor) or tensor, lambda kept: kept)
    with watched, autocast_context(NARROW, "cpu"):
        for _ in range(5):
            output, state = layer(torch.randn(2, 1, 6), state)
    assert output.dtype == torch.float32
    own = {weight.data_ptr() for weight in layer.parameters()}
    matrices = [tensor for tensor in kept if tensor.numel() >= 4 * 8 * 6]
    assert matrices
    assert {tensor.data_ptr() for tensor in matrices} <= own


def test_kernel_caches_are_bounded(tmp_path: Path) -> None:
    write_pairs(tmp_path)
    config = small_config(tmp_path, precision="bfloat16")
    create_trainer(config, tmp_path / "run", corpus_of(config, tmp_path / "run"))
    assert int(os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"]) == int(os.environ["LRU_CACHE_CAPACITY"]) == 64


@pytest.mark.parametrize("has_avx512", [True, False])
def test_lstm_sequences_use_float32_without_bfloat16_kernel(has_avx512: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if has_avx512 and not torch.cpu.get_capabilities().get("avx512_bw", False):
        pytest.skip("this processor has no AVX-512")
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bw": has_avx512})
    layer, rows = CELLS["lstm"](4, 6, batch_first=True), torch.randn(2, 3, 4)
    with autocast_context(NARROW, "cpu"):
        found, _ = layer(rows)
    assert found.dtype == (torch.bfloat16 if has_avx512 else torch.float32)
