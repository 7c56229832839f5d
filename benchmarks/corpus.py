"""Large corpora: how fast a store is built by one process and by two, and what memory training takes as they grow.

    .venv/bin/python benchmarks/corpus.py                    # 10,000 and 1,000,000 pairs: some minutes, 1 GB of disk
    .venv/bin/python benchmarks/corpus.py --pairs 100000     # a smaller large corpus
    .venv/bin/python benchmarks/corpus.py --json             # one JSON line for each measurement

The sentences are made up: words drawn with Zipf's frequencies from a list of syllables put together by chance.
"""

import argparse
import json
import multiprocessing
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from itertools import accumulate, islice
from pathlib import Path

from regard.config import DataConfig, TokensConfig
from regard.data import Cutting, read_pairs, tokenised, write_store
from regard.tokens import Tokenizer, train_tokenizers

FEW = 10_000
WORDS = 20_000
VOCABULARY = 8_000
STEPS = 5
STACK = "{layers = 2, width = 128, heads = 4, inner = 256}"
RECIPE = """
[model]
kind = "transformer"
encoder = {stack}
decoder = {stack}
[tokens]
size = {size}
[data]
train = ["{place}/train.src", "{place}/train.trg"]
valid = ["{place}/valid.src", "{place}/valid.trg"]
[training]
steps = {steps}
batch_tokens = 2048
validate_every = {steps}
"""


def write_corpus(place: Path, count: int) -> None:
    """A training and a validation set; the target has the source's words, each in another guise, in reverse."""
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


def measure_speed(place: Path, count: int) -> dict[str, object]:
    """Pairs a second: the tokenizer by itself on one core, then the whole store by one process and by two."""
    paths = [place / "train.src", place / "train.trg"]
    sample = list(islice(read_pairs(paths), 20_000))
    both = train_tokenizers(
        TokensConfig(size=VOCABULARY), *zip(*((one.source, one.target) for one in sample), strict=True)
    )
    model = both.source.to_bytes()
    row: dict[str, object] = {"pairs": count} | measure_tokenizer(model, sample)
    for processes in (1, 2):
        started, used = time.monotonic(), _processor_seconds()
        pairs = islice(read_pairs(paths), count)
        blocks = tokenised(
            pairs, Cutting(model, model, DataConfig()), parts=place / f"parts-{processes}", processes=processes
        )
        write_store(place / f"store-{processes}", blocks, fingerprint="benchmark")
        row[f"store, {processes} process(es)"] = count / (time.monotonic() - started)
        row[f"processor microseconds a pair, {processes}"] = 1e6 * (_processor_seconds() - used) / count
    row["store, 2 processes / tokenizer, 2 cores"] = round(row["store, 2 process(es)"] / row["tokenizer, 2 cores"], 3)  # type: ignore[operator]
    stores = [{path.name: path.read_bytes() for path in (place / f"store-{number}").iterdir()} for number in (1, 2)]
    assert stores[0] == stores[1]
    return row


def _processor_seconds() -> float:
    """Of this process and of those it has waited for: what the work costs, however busy the machine is."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def measure_tokenizer(model: bytes, sample: list) -> dict[str, float]:
    """Pairs a second that `Tokenizer.encode` alone cuts: on one core, and on both at once."""
    texts = [text for pair in sample for text in (pair.source, pair.target)]
    speeds = {}
    for cores in (1, 2):
        with multiprocessing.get_context("spawn").Pool(cores) as pool:
            own = pool.starmap(_encoding_speed, [(model, texts)] * cores, chunksize=1)
        speeds[f"tokenizer, {cores} core{'s' * (cores > 1)}"] = sum(own)
    return speeds


def _encoding_speed(model: bytes, texts: list[str]) -> float:
    tokenizer = Tokenizer.from_bytes(model)
    started = time.monotonic()
    for text in texts:
        tokenizer.encode(text)
    return len(texts) / 2 / (time.monotonic() - started)


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


def tell(row: dict[str, object], *, as_json: bool) -> None:
    figures = [
        f"{name}: {value:,.0f}" if isinstance(value, float | int) else f"{name}: {value}" for name, value in row.items()
    ]
    print(json.dumps(row) if as_json else "   ".join(figures), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="regard-corpus-") as directory:
        few, many = Path(directory) / "few", Path(directory) / "many"
        write_corpus(few, FEW)
        write_corpus(many, options.pairs)
        tell(measure_speed(many, min(options.pairs, 200_000)), as_json=options.json)
        rows = [measure_memory(few, FEW), measure_memory(many, options.pairs)]
        for row in rows:
            tell(row, as_json=options.json)
        growth = {name: rows[1][name] - rows[0][name] for name in rows[0] if "(MB)" in name}  # type: ignore[operator]
        tell({"growth": f"{FEW:,} to {options.pairs:,} pairs"} | growth, as_json=options.json)


if __name__ == "__main__":
    main()
