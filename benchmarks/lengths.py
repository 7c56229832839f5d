"""What a long input costs: seconds and megabytes of one pass over a source and a target of so many tokens.

    .venv/bin/python benchmarks/lengths.py                     # 128 to 8,192 tokens; some minutes
    .venv/bin/python benchmarks/lengths.py --longest 2048

Three passes: inference; one training step; and inference with every attention map recorded. Each is measured in a
process of its own, because a process does not return its memory. It prints a JSON line for each.
"""

import argparse
import json
import multiprocessing
import time
from contextlib import nullcontext
from multiprocessing.queues import SimpleQueue

import torch

from regard.attention.hooks import record_attention
from regard.batch import Batch
from regard.config import TransformerConfig, TransformerStackConfig
from regard.models.transformer import TransformerModel
from regard.special_tokens import RESERVED
from regard.training.objective import compute_loss

STACK = TransformerStackConfig(layers=4, width=128, heads=4, ffn_width=256)
VOCABULARY = 10_000
SHORTEST, LONGEST, LONGEST_RECORDED = 128, 8192, 1024
PASSES = ("unwatched", "training", "recorded")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--longest", type=int, default=LONGEST)
    longest = parser.parse_args().longest
    length = SHORTEST
    while length <= longest:
        for kind in PASSES:
            if kind != "recorded" or length <= LONGEST_RECORDED:
                print(json.dumps(measured(kind, length)), flush=True)
        length *= 2


def measured(kind: str, length: int) -> dict[str, object]:
    """The row of one pass, from a process of its own."""
    spawned = multiprocessing.get_context("spawn")
    found: SimpleQueue[dict[str, object]] = spawned.SimpleQueue()
    process = spawned.Process(target=_measure, args=(kind, length, found))
    process.start()
    row = found.get()
    process.join()
    return row


def _measure(kind: str, length: int, found: "SimpleQueue[dict[str, object]]") -> None:
    torch.manual_seed(0)
    config = TransformerConfig(encoder=STACK, decoder=STACK, share_embeddings=True)
    model = TransformerModel(config, VOCABULARY, VOCABULARY).train(kind == "training")
    _pass(model, _batch(16), kind)  # the setup is not part of the pass
    batch, before = _batch(length), _megabytes("VmRSS")
    begun = time.perf_counter()
    _pass(model, batch, kind)
    seconds = time.perf_counter() - begun
    megabytes = max(0.0, _megabytes("VmHWM") - before)
    found.put({"pass": kind, "tokens": length, "seconds": round(seconds, 4), "megabytes": round(megabytes, 1)})


def _batch(length: int) -> Batch:
    """Two rows, the second of them padded, so that the encoder has a mask."""
    rows = [torch.randint(len(RESERVED), VOCABULARY, (size,)).tolist() for size in (length - 1, length // 2)]
    return Batch.from_pairs(rows, rows)


def _pass(model: TransformerModel, batch: Batch, kind: str) -> None:
    if kind == "training":
        compute_loss(model, batch, smoothing=0.1).backward()
        return
    with torch.inference_mode(), record_attention(model) if kind == "recorded" else nullcontext():
        memory = model.encode(batch.source)
        model.decode(batch.inputs.tokens, memory, model.init_state(memory))


def _megabytes(name: str) -> float:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name)) / 1024


if __name__ == "__main__":
    main()
