"""Errors of language detection by the odds from which a text counts as being in the target language already.

    .venv/bin/python -m benchmarks.detection de en SENTENCES.en    # into German, the sentences are English
    .venv/bin/python -m benchmarks.detection de en SENTENCES.de --is-target

For a server with one model from the source into the target: how many lines of the file stay untranslated or, with
--is-target, how many are not. A JSON line for each value that `TARGET_ODDS` of server/service.py could have.
"""

import argparse
import json
from pathlib import Path

from regard.languages import base_code
from regard.server.service import TARGET_ODDS, detect_source

ODDS = sorted({1, 3, 9, 19, 99, 999, TARGET_ODDS})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target")
    parser.add_argument("source")
    parser.add_argument("sentences", type=Path)
    parser.add_argument("--is-target", action="store_true")
    asked = parser.parse_args()
    texts = [line for line in asked.sentences.read_text("utf-8").split("\n") if line]
    for odds in ODDS:
        left = count_untranslated(texts, asked.source, asked.target, odds)
        errors = len(texts) - left if asked.is_target else left
        print(json.dumps({"target_odds": odds, "texts": len(texts), "errors": errors}))


def count_untranslated(texts: list[str], source: str, target: str, odds: float) -> int:
    """How many of the texts would stay untranslated."""
    found = (detect_source(text, [source, target], target, target_odds=odds)[0] for text in texts)
    return sum(base_code(one) == base_code(target) for one in found)


if __name__ == "__main__":
    main()
