"""What it costs to be more or less sure that a text is in the target already, where a client names no source.

    .venv/bin/python -m benchmarks.detection de en SENTENCES.en    # into German, the sentences are English
    .venv/bin/python -m benchmarks.detection de en SENTENCES.de --is-target

For a server with one model from the source into the target: of the file's lines, how many are left as they are or, with
--is-target, how many are not. A JSON line for each number that `SURE` of serve/speaking.py could be.
"""

import argparse
import json
from pathlib import Path

from regard.serve.languages import base_code
from regard.serve.speaking import SURE, language_of

NUMBERS = sorted({1, 9, 19, 99, 999, SURE})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target")
    parser.add_argument("source")
    parser.add_argument("sentences", type=Path)
    parser.add_argument("--is-target", action="store_true")
    asked = parser.parse_args()
    texts = [line for line in asked.sentences.read_text("utf-8").split("\n") if line]
    for sure in NUMBERS:
        left = count_left(texts, asked.source, asked.target, sure)
        print(json.dumps({"sure": sure, "texts": len(texts), "wrong": len(texts) - left if asked.is_target else left}))


def count_left(texts: list[str], source: str, target: str, sure: float) -> int:
    """How many of the texts would be left as they are."""
    found = (language_of(text, [source, target], target, sure=sure)[0] for text in texts)
    return sum(base_code(one) == base_code(target) for one in found)


if __name__ == "__main__":
    main()
