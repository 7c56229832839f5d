"""The contenders of benchmarks/training.py: ours as `regard train` does it, and the peers in the loop of their manuals.

All get the same batches from the same store. A contender is a function of a batch that makes one update.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.batch import Batch
from regard.config import Config, TransformerConfig
from regard.cpu_speedups import MAX_MICROBATCHES
from regard.data.batch_order import EpochPosition
from regard.layers.positions import sinusoidal
from regard.special_tokens import BEGIN, END, PADDING
from regard.training.corpora import Corpus, RankBatch, prepare_corpus, rank_batches
from regard.training.step import ThroughputMeter, create_trainer, train_step

os.environ.setdefault("HF_HUB_OFFLINE", "1")

Update = Callable[[RankBatch], object]
GEMM_SIDE, GEMM_SECONDS = 2048, 0.6


@dataclass(frozen=True)
class Job:
    """The contender of a process, and its data."""

    who: str
    config: Config
    run: Path


def serve(job: Job, orders: Connection) -> None:
    """The loop of a process: for each requested number of steps their speed; zero ends it."""
    torch.set_num_threads(job.config.training.threads)
    torch.manual_seed(job.config.training.seed)
    if job.who == "gemm":
        while orders.recv():
            orders.send(gemm())
        return
    corpus = prepare_corpus(job.config, job.run, progress=lambda *_: None)
    update = MAKERS[job.who](job, corpus)
    parts = (
        min(job.config.training.threads, MAX_MICROBATCHES) if job.who == "ours" else 1
    )  # as `regard train` shares batches
    drawn = rank_batches(corpus, job.config, EpochPosition(), device="cpu", parts=parts)
    while steps := orders.recv():
        begun, taken = time.perf_counter(), [next(drawn) for _ in range(steps)]
        for one in taken:
            update(one)
        speed = sum(one.tokens for one in taken) / (time.perf_counter() - begun)
        orders.send({"speed": speed, "memory": peak_memory()})


def gemm() -> float:
    """FLOPs per second of one large matrix product, by the median."""
    left, right = torch.randn(GEMM_SIDE, GEMM_SIDE), torch.randn(GEMM_SIDE, GEMM_SIDE)
    seconds: list[float] = []
    while sum(seconds) < GEMM_SECONDS:
        begun = time.perf_counter()
        left @ right
        seconds.append(time.perf_counter() - begun)
    return 2 * GEMM_SIDE**3 / sorted(seconds)[len(seconds) // 2]


def peak_memory() -> float:
    """The peak memory of this process in megabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def ours(job: Job, corpus: Corpus) -> Update:
    """The training step of `regard train`."""
    trainer, meter = create_trainer(job.config, job.run, corpus), ThroughputMeter(0.0)
    return lambda drawn: train_step(trainer, [drawn], meter)


def huggingface(job: Job, corpus: Corpus) -> Update:
    """MarianMTModel in a plain loop."""
    from transformers import MarianConfig, MarianMTModel

    options = _transformer(job.config)
    model = MarianMTModel(
        MarianConfig(
            vocab_size=corpus.tokenizers.target.vocab_size,
            d_model=options.encoder.width,
            encoder_layers=options.encoder.layers,
            decoder_layers=options.decoder.layers,
            encoder_attention_heads=options.encoder.heads,
            decoder_attention_heads=options.decoder.heads,
            encoder_ffn_dim=options.encoder.ffn_width,
            decoder_ffn_dim=options.decoder.ffn_width,
            dropout=options.dropout,
            activation_function="relu",
            scale_embedding=True,
            pad_token_id=PADDING,
            bos_token_id=BEGIN,
            eos_token_id=END,
            decoder_start_token_id=BEGIN,
            use_cache=False,
        )
    ).train()

    def logits(batch: Batch) -> Tensor:
        mask, inputs = batch.source.is_real.long(), batch.inputs.tokens
        found: Tensor = model(input_ids=batch.source.tokens, attention_mask=mask, decoder_input_ids=inputs).logits
        return found

    return _plain_loop(model, logits, job.config)


class TorchTransformer(nn.Module):
    """torch.nn.Transformer between one shared table of embeddings and itself."""

    def __init__(self, options: TransformerConfig, vocabulary: int) -> None:
        super().__init__()
        self.width = options.encoder.width
        self.table = nn.Embedding(vocabulary, self.width, padding_idx=PADDING)
        nn.init.normal_(self.table.weight, std=self.width**-0.5)
        self.dropout = nn.Dropout(options.dropout)
        self.transformer = nn.Transformer(
            self.width,
            options.encoder.heads,
            options.encoder.layers,
            options.decoder.layers,
            options.encoder.ffn_width,
            options.dropout,
            batch_first=True,
        )

    def forward(self, batch: Batch) -> Tensor:
        is_padding = ~batch.source.is_real
        length = batch.inputs.tokens.shape[1]
        hidden = self.transformer(
            self._placed(batch.source.tokens),
            self._placed(batch.inputs.tokens),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(length),
            src_key_padding_mask=is_padding,
            memory_key_padding_mask=is_padding,
            tgt_is_causal=True,
        )
        return functional.linear(hidden, self.table.weight)

    def _placed(self, tokens: Tensor) -> Tensor:
        places = sinusoidal(torch.arange(tokens.shape[1]), self.width).float()
        placed: Tensor = self.dropout(self.table(tokens) * self.width**0.5 + places)
        return placed


def torch_transformer(job: Job, corpus: Corpus) -> Update:
    """torch.nn.Transformer in a plain loop."""
    model = TorchTransformer(_transformer(job.config), corpus.tokenizers.target.vocab_size).train()
    return _plain_loop(model, model, job.config)


def _plain_loop(model: nn.Module, logits: Callable[[Batch], Tensor], config: Config) -> Update:
    """Zero, forward, loss, backward, clip, step: the usual loop."""
    options = config.training
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, betas=(0.9, 0.98), weight_decay=0.0)

    def update(drawn: RankBatch) -> None:
        optimizer.zero_grad()
        [batch] = drawn.parts
        targets = batch.outputs.tokens.flatten()
        with torch.autocast("cpu", torch.bfloat16, enabled=options.precision == "bfloat16"):
            loss = functional.cross_entropy(  # of logits that are freed once their gradient is computed
                logits(batch).flatten(0, 1), targets, ignore_index=PADDING, label_smoothing=options.label_smoothing
            )
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), options.max_grad_norm)
        optimizer.step()

    return update


def _transformer(config: Config) -> TransformerConfig:
    assert isinstance(config.model, TransformerConfig)
    return config.model


MAKERS: dict[str, Callable[[Job, Corpus], Update]] = {
    "ours": ours,
    "hf marian": huggingface,
    "torch.nn.Transformer": torch_transformer,
}
