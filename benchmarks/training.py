"""Training speed, interleaved in one run: ours, Hugging Face's MarianMTModel, torch.nn.Transformer, and the limit.

    .venv/bin/python benchmarks/training.py                      # all sizes: a quarter of an hour on two idle cores
    .venv/bin/python benchmarks/training.py --sizes width-128    # of width-128, width-512, lstm, lstm-luong

The limit is the speed of one large matrix product in float32 (GEMM), measured before and after every timing; the share
of a model is its real target tokens per second, times the FLOPs of its matrices per token, divided by the limit.
If the processor supports bfloat16, the default of `regard train`, every contender is timed in both precisions (the
peers by autocast). Every contender has a process of its own, which sleeps while the others run, and turns are
interleaved, so that other load affects all alike. The data are Multi30k (data/multi30k), or the generated corpus
without it. It prints a JSON line for each timing, then one for each target with the median, lowest and highest of the
repetitions. The exit code is 1 if a target is missed.
"""

import argparse
import json
import multiprocessing
import os
import statistics
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import product
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec

from regard.config import (
    AttentionRNNConfig,
    Config,
    DataConfig,
    ModelConfig,
    TokenizerConfig,
    TrainingConfig,
    TransformerConfig,
    TransformerStackConfig,
)
from regard.data.batch_order import plan_epoch
from regard.training.corpora import Corpus, prepare_corpus
from regard.training.step import supports_bfloat16
from regard.worlds.sentences import write_world

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.training_peers import Job, serve

MULTI30K = Path("data/multi30k")
PIECES = 10_000
WARM_UP = 2  # steps that are not timed
LSTM_BAR = 3_600 / 137e9  # required target tokens per second, for each FLOP per second of the limit
PEERS = ("hf marian", "torch.nn.Transformer")
Row = dict[str, Any]
Bar = tuple[str, list[float], float]  # its label, its repetitions, and the required minimum (0: none)


class Contender(NamedTuple):
    """An implementation, and the precision of its products."""

    who: str
    precision: str

    def __str__(self) -> str:
        return f"{self.who}, {self.precision}"


@dataclass(frozen=True)
class Size:
    """A model, the steps of one timing, and the required minimum."""

    model: ModelConfig
    steps: int
    share_of_limit: float = 0.0
    times_marian: float = 0.0

    @property
    def contenders(self) -> list[Contender]:
        """Each in every precision; the peers are Transformers."""
        peers = PEERS if self.share_of_limit else ()
        return [Contender(who, precision) for who in ("ours", *peers) for precision in _precisions()]

    def flops(self, vocabulary: int) -> float:
        """Of a target token, and the source token that comes with it: 6 for each weight of a matrix it meets."""
        if not isinstance(self.model, TransformerConfig):
            return 0.0
        encoder, decoder = self.model.encoder, self.model.decoder
        encoder_parameters = encoder.layers * (4 * encoder.width**2 + 2 * encoder.width * encoder.ffn_width)
        decoder_parameters = decoder.layers * (8 * decoder.width**2 + 2 * decoder.width * decoder.ffn_width)
        return 6.0 * (encoder_parameters + decoder_parameters + vocabulary * decoder.width)


def _transformer(layers: int, width: int, inner: int, heads: int) -> TransformerConfig:
    stack = TransformerStackConfig(layers=layers, width=width, ffn_width=inner, heads=heads)
    return TransformerConfig(encoder=stack, decoder=stack, share_embeddings=True)


SIZES = {
    "width-128": Size(_transformer(4, 128, 256, 4), steps=12, share_of_limit=0.60, times_marian=2.0),
    "width-512": Size(_transformer(3, 512, 2048, 8), steps=3, share_of_limit=0.85, times_marian=1.2),
    "lstm": Size(AttentionRNNConfig(), steps=12),
    "lstm-luong": Size(AttentionRNNConfig(score="general", query_state="current", input_feeding=True), steps=12),
}


def main() -> int:
    given = _arguments()
    with TemporaryDirectory(prefix="regard-training-") as directory:
        data = training_data(Path(directory))
        held = [measure(name, data, Path(directory) / name, given) for name in given.sizes]
    return 0 if all(held) else 1


def training_data(directory: Path) -> DataConfig:
    """Multi30k where it is, else the generated world, written into the directory."""
    if MULTI30K.is_dir():
        train, valid = ([str(MULTI30K / f"{name}.lc.tok.{side}") for side in ("en", "de")] for name in ("train", "val"))
        return DataConfig(train=train, valid=valid, languages=["en", "de"])
    world = directory / "world"
    write_world(world)
    train, valid = ([str(world / f"{name}.{side}") for side in ("en", "ko")] for name in ("train", "valid"))
    return DataConfig(train=train, valid=valid, languages=["en", "ko"])


def measure(name: str, data: DataConfig, run: Path, given: argparse.Namespace) -> bool:
    """Time every contender of one size in turn, print the rows, and return whether all targets are met."""
    size, options = SIZES[name], TrainingConfig(batch_tokens=given.batch_tokens, threads=given.threads)
    config = Config(
        model=size.model, tokenizer=TokenizerConfig(model_type="bpe", vocab_size=PIECES), data=data, training=options
    )
    corpus = prepare_corpus(config, run, progress=lambda *_: None)
    pieces = corpus.tokenizers.target.vocab_size
    _tell(size=name, real_share=_real_share(corpus, options), pieces=pieces, flops_a_token=size.flops(pieces))
    rows: list[Row] = []
    for row in _timings(size, config, run, given.repetitions):
        rows.append({"size": name} | row | {"share_of_limit": row["speed"] * size.flops(pieces) / row["limit"]})
        _tell(**rows[-1])
    held = [_print_bar(name, *bar) for bar in _bars(size, rows)]  # all are printed, also after a missed one
    return all(held)


def _real_share(corpus: Corpus, options: TrainingConfig) -> float:
    """The share of token places that hold a token and not padding."""
    return plan_epoch(
        *corpus.lengths, batch_tokens=options.batch_tokens, seed=options.seed, epoch=0
    ).non_padding_fraction


def _timings(size: Size, config: Config, run: Path, repetitions: int) -> Iterator[Row]:
    """For each repetition and contender: speed in real target tokens a second, limit and peak memory in megabytes."""
    with ExitStack() as stack:
        limit = stack.enter_context(_process(Job("gemm", config, run)))
        processes = {one: stack.enter_context(_process(_job(one, config, run))) for one in size.contenders}
        for process in processes.values():
            _ask(process, WARM_UP)
        for repetition in range(repetitions):
            for contender, process in processes.items():
                before, timing, after = _ask(limit, 1), _ask(process, size.steps), _ask(limit, 1)
                yield {"who": str(contender), "repetition": repetition, "limit": (before + after) / 2} | timing


def _precisions() -> list[str]:
    """The last one is the default of `regard train`."""
    return ["float32", "bfloat16"] if supports_bfloat16("cpu") else ["float32"]


def _job(contender: Contender, config: Config, run: Path) -> Job:
    options = msgspec.structs.replace(config.training, precision=contender.precision)
    return Job(contender.who, msgspec.structs.replace(config, training=options), run)


@contextmanager
def _process(job: Job) -> Iterator[Connection]:
    """A process that waits for jobs; it ends with the block."""
    own, others = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(job, others))
    process.start()
    others.close()  # so that a process that dies is noticed
    try:
        yield own
        own.send(0)
        process.join()
    finally:
        process.kill()


def _ask(process: Connection, steps: int) -> Any:
    process.send(steps)
    return process.recv()


def _bars(size: Size, rows: list[Row]) -> Iterator[Bar]:
    """The targets with all repetitions."""
    timed = {one: [row for row in rows if row["who"] == str(one)] for one in size.contenders}
    own = [one for one in timed if one.who == "ours"]
    for one in own if not size.share_of_limit else ():
        speeds = [row["speed"] / (LSTM_BAR * row["limit"]) for row in timed[one]]
        yield f"{one}: speed / (3,600 at a limit of 137 GFLOP/s)", speeds, 1.0
    for one in timed if size.share_of_limit else ():
        due = size.share_of_limit if one in own else 0.0
        yield f"share of float32's limit, {one}", [row["share_of_limit"] for row in timed[one]], due
    for one, peer in product(own, timed):
        # In one precision; and the default of `regard train` against the fastest precision of a peer.
        if peer not in own and (one.precision == peer.precision or one == own[-1]):
            yield from _against(size, (one, timed[one]), (peer, timed[peer]))


def _against(size: Size, own: tuple[Contender, list[Row]], peer: tuple[Contender, list[Row]]) -> Iterator[Bar]:
    """How many times as fast as a peer, and how many times less memory."""
    (one, mine), (other, theirs) = own, peer
    due = size.times_marian if other.who == "hf marian" else 0.0
    speeds = [fast["speed"] / slow["speed"] for fast, slow in zip(mine, theirs, strict=True)]
    yield f"speed, {one} / {other}", speeds, due
    yield f"peak memory, {other} / {one}", [theirs[-1]["memory"] / mine[-1]["memory"]], 1.0 if due else 0.0


def _print_bar(size: str, name: str, values: list[float], due: float) -> bool:
    middle = statistics.median(values)
    bar = {"at_least": due, "holds": middle >= due} if due else {}
    _tell(size=size, bar=name, median=middle, low=min(values), high=max(values), **bar)
    return middle >= due


def _tell(**row: object) -> None:
    rounded = {key: float(f"{value:.4g}") if isinstance(value, float) else value for key, value in row.items()}
    print(json.dumps(rounded), flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
