"""Large corpora: the speed of building a token store, next to the tokenizer alone, and the memory of training.

    .venv/bin/python benchmarks/corpus.py                    # 10,000 and 1,000,000 pairs: some minutes, 1 GB of disk
    .venv/bin/python benchmarks/corpus.py --pairs 100000     # a smaller large corpus
    .venv/bin/python benchmarks/corpus.py --only speed       # or memory
    .venv/bin/python benchmarks/corpus.py --json             # one JSON line for each measurement

The sentences are random: words made of random syllables, sampled with Zipf's frequencies.
"""

import argparse
import json
import multiprocessing
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from itertools import accumulate, islice
from pathlib import Path

from sentencepiece import SentencePieceProcessor

from regard.config import DataConfig, TokenizerConfig
from regard.data.corpus_tokenization import TokenizeJob, tokenize_corpus
from regard.data.pair_readers import read_blocks, read_pairs
from regard.data.token_store import write_store
from regard.tokenization.tokenizer import Tokenizer, train_tokenizer_pair

Encode = Callable[[list[str]], object]
FEW = 10_000
WORDS = 20_000
VOCABULARY = 8_000
COST = "processor microseconds a pair"
STEPS = 5
SAMPLE_BLOCKS = 25  # of 4,000 pairs: what each core cuts when the tokenizer is measured by itself
STACK = "{layers = 2, width = 128, heads = 4, ffn_width = 256}"
RECIPE = """
[model]
kind = "transformer"
encoder = {stack}
decoder = {stack}
[tokenizer]
vocab_size = {size}
[data]
train = ["{place}/train.src", "{place}/train.trg"]
valid = ["{place}/valid.src", "{place}/valid.trg"]
[training]
steps = {steps}
batch_tokens = 2048
precision = "float32"
validate_every = {steps}
"""


def write_corpus(place: Path, count: int) -> None:
    """A training and a validation set; the target is the source in reverse order, each word replaced by another."""
    place.mkdir()
    chance = random.Random(1)
    syllables = [first + second for first in "bcdfghjklmnprstvwz" for second in ("a", "e", "i", "o", "u", "ai", "on")]
    words = ["".join(chance.choices(syllables, k=chance.randint(1, 4))) for _ in range(WORDS)]
    frequencies = list(accumulate(1 / rank for rank in range(1, WORDS + 1)))
    for name, size in (("train", count), ("valid", 20)):
        with (place / f"{name}.src").open("w") as source, (place / f"{name}.trg").open("w") as target:
            for _ in range(size):
                chosen = chance.choices(words, cum_weights=frequencies, k=chance.randint(4, 24))
                source.write(" ".join(chosen) + "\n")
                target.write(" ".join(word[::-1] for word in reversed(chosen)) + "\n")


def measure_speed(place: Path, count: int, rounds: int) -> list[dict[str, object]]:
    """Pairs per second of the tokenizer alone and of the whole store, interleaved, so that other load affects both."""
    sample = list(islice(read_pairs(_files(place)), 20_000))
    sides = zip(*((one.source, one.target) for one in sample), strict=True)
    model = train_tokenizer_pair(TokenizerConfig(vocab_size=VOCABULARY), *sides).source.to_bytes()
    turns = [_turn(place, model, count) for _ in range(rounds)]
    stores = [{path.name: path.read_bytes() for path in (place / f"store-{number}").iterdir()} for number in (1, 2)]
    assert stores[0] == stores[1]
    rows = [_summary(name, [turn[name] for turn in turns]) for name in turns[0]]
    for tokenizer in TOKENIZERS:
        ratios = [turn["store, 2 processes"] / turn[f"{tokenizer}, 2 cores"] for turn in turns]
        rows.append(_summary(f"store, 2 processes / {tokenizer}, 2 cores", ratios))
    return rows


def _summary(name: str, values: list[float]) -> dict[str, object]:
    return {"measured": name, "mean": sum(values) / len(values), "lowest": min(values), "highest": max(values)}


def _turn(place: Path, model: bytes, count: int) -> dict[str, float]:
    """Pairs per second, and processor time per pair, which hardly depends on other load."""
    row = {}
    for name in TOKENIZERS:
        row[f"{name}, 2 cores"], row[f"{name}: {COST}"] = _tokenizer_alone(place, model, name)
    for processes in (1, 2):
        started, used = time.monotonic(), _processor_seconds()
        _build(place, model, processes)
        name = f"store, {processes} process{'es' * (processes > 1)}"
        row[name] = count / (time.monotonic() - started)
        row[f"{name}: {COST}"] = 1e6 * (_processor_seconds() - used) / count
    return row


def _build(place: Path, model: bytes, processes: int) -> None:
    """The store as `regard train` builds it, with nothing left of an earlier build."""
    parts = place / "parts"
    cutting = TokenizeJob(model, model, DataConfig())
    packed = tokenize_corpus(read_blocks(_files(place)), cutting, parts=parts, processes=processes)
    write_store(place / f"store-{processes}", packed, fingerprint="benchmark")
    shutil.rmtree(parts, ignore_errors=True)


def _files(place: Path) -> list[Path]:
    return [place / "train.src", place / "train.trg"]


def _processor_seconds() -> float:
    """Processor time of this process and its finished children, which does not depend on other load."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _tokenizer_alone(place: Path, model: bytes, name: str) -> tuple[float, float]:
    """Pairs per second of two processes together, and processor microseconds per pair; the ids are discarded."""
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        measured = pool.starmap(_encode_sample, [(place, model, name)] * 2, chunksize=1)
    return sum(speed for speed, _ in measured), sum(cost for _, cost in measured) / 2


def _encode_sample(place: Path, model: bytes, name: str) -> tuple[float, float]:
    encode = TOKENIZERS[name](model)
    blocks = [side for block in islice(read_blocks(_files(place)), SAMPLE_BLOCKS) for side in block.texts()]
    started, used = time.monotonic(), time.process_time()
    for texts in blocks:
        encode(texts)
    pairs = sum(map(len, blocks)) / 2
    return pairs / (time.monotonic() - started), 1e6 * (time.process_time() - used) / pairs


def _sentencepiece(model: bytes) -> Encode:
    """sentencepiece alone, many texts per call: its fastest function in Python."""
    return partial(SentencePieceProcessor(model_proto=model).encode, num_threads=1)


def _ours(model: bytes) -> Encode:
    return Tokenizer.from_bytes(model).encode_to_bytes


TOKENIZERS: dict[str, Callable[[bytes], Encode]] = {"sentencepiece": _sentencepiece, "encode_to_bytes": _ours}


def measure_memory(place: Path, count: int) -> dict[str, object]:
    """Peak memory of `regard train`, in megabytes: of its largest process, and of all of them at one moment."""
    recipe = place / "recipe.toml"
    recipe.write_text(RECIPE.format(stack=STACK, size=VOCABULARY, place=place, steps=STEPS))
    started = time.monotonic()
    command = [sys.executable, "-m", "regard", "train", str(recipe), "--run", str(place / "run")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    together = [0]
    watcher = threading.Thread(target=_watch, args=(process.pid, together), daemon=True)
    watcher.start()
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0
    return {
        "pairs": count,
        "largest process (MB)": usage.ru_maxrss / 1024,
        "all together (MB)": together[0] / 1024,
        "seconds": time.monotonic() - started,
    }


def measure_growth(few: Path, many: Path, count: int) -> list[dict[str, object]]:
    """Peak memory with few pairs and with many, and how much more the latter takes."""
    rows = [measure_memory(few, FEW), measure_memory(many, count)]
    growth = {name: rows[1][name] - rows[0][name] for name in rows[0] if "(MB)" in name}  # type: ignore[operator]
    return [*rows, {"growth": f"{FEW:,} to {count:,} pairs"} | growth]


def _watch(session: int, together: list[int]) -> None:
    """Note the largest sum of proportional set sizes (shared pages counted once) of a session's processes."""
    while Path(f"/proc/{session}").exists():
        sizes = [_proportional_size(path) for path in Path("/proc").glob("[0-9]*") if _session_of(path) == session]
        together[0] = max(together[0], sum(sizes))
        time.sleep(0.2)


def _session_of(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[3])
    except OSError:
        return -1


def _proportional_size(process: Path) -> int:
    try:
        lines = (process / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def print_row(row: dict[str, object], *, as_json: bool) -> None:
    figures = [
        f"{name}: {value:,.{0 if value >= 100 else 3}f}" if isinstance(value, float | int) else f"{name}: {value}"
        for name, value in row.items()
    ]
    print(json.dumps(row) if as_json else "   ".join(figures), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--only", choices=("speed", "memory"), help="measure one of the two")
    parser.add_argument("--rounds", type=int, default=3, help="how often each speed is measured")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="regard-corpus-") as directory:
        many = Path(directory) / "many"
        write_corpus(many, options.pairs)
        rows: list[dict[str, object]] = []
        if options.only != "speed":  # first: a process inherits the peak of the one that starts it, which is small yet
            write_corpus(Path(directory) / "few", FEW)
            rows += measure_growth(Path(directory) / "few", many, options.pairs)
        if options.only != "memory":
            rows += measure_speed(many, options.pairs, options.rounds)
        for row in rows:
            print_row(row, as_json=options.json)


if __name__ == "__main__":
    main()
