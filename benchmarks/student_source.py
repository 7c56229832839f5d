"""Source sentences for Multi30k's student: its training set, and English captions of Flickr8k without a translation.

    .venv/bin/python benchmarks/student_source.py --out runs/student-source.en

The captions get the form of Multi30k's files (lower case, Moses escapes). Images with a caption in Multi30k's
validation or test set are left out, because their other captions have the same meaning.
"""

import argparse
from collections import defaultdict
from html import escape
from pathlib import Path

from regard.files import atomic_file


def main() -> None:
    given = _arguments()
    trained = _lines(given.multi30k / "train.lc.tok.en")
    held_out = {line for name in ("val", "test2016") for line in _lines(given.multi30k / f"{name}.lc.tok.en")}
    pictures = captions_by_picture(given.flickr8k / "captions.txt")
    free = [caption for own in pictures.values() if held_out.isdisjoint(own) for caption in own]
    known = set(trained)
    more = [caption for caption in dict.fromkeys(free) if caption not in known]
    with atomic_file(given.out) as file:
        file.writelines(f"{line}\n".encode() for line in [*trained, *more])
    left_out = sum(not held_out.isdisjoint(own) for own in pictures.values())
    print(f"{len(trained):,} lines of Multi30k and {len(more):,} captions of Flickr8k are in {given.out};")
    print(f"captions of {left_out:,} of {len(pictures):,} pictures were left out")


def captions_by_picture(file: Path) -> dict[str, list[str]]:
    """The captions of each image, in the form of Multi30k."""
    found = defaultdict(list)
    for line in _lines(file):
        picture, caption = line.split("\t")
        found[picture].append(escape(caption.lower()).replace("&#x27;", "&apos;"))
    return found


def _lines(file: Path) -> list[str]:
    return [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--multi30k", type=Path, default=Path("data/multi30k"))
    parser.add_argument("--flickr8k", type=Path, default=Path("data/flickr8k"))
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()
