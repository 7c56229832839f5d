"""A shortlist finds which word translates which, and CTranslate2 says nothing that is not in it."""

from pathlib import Path
from random import Random

import pytest

from regard.config import TransformerConfig, TransformerStackConfig
from regard.errors import RegardError
from regard.inference.open import load
from regard.interop.ctranslate2 import export_ctranslate2, learn_shortlist
from regard.tokenization.tokenizer import TokenizerPair
from tests.support.random_translators import SOURCE, TARGET, WORDS, random_translator, texts

BOTH = TokenizerPair(SOURCE, TARGET)


def pairs(count: int) -> list[tuple[list[int], list[int]]]:
    """Each of twelve words has one translation; their order is lost."""
    chance = Random(2)
    found = []
    for _ in range(count):
        places = [chance.randrange(12) for _ in range(chance.randint(2, 5))]
        target = [TARGET.encode(WORDS[place + 20])[0] for place in places]
        found.append((SOURCE.encode(" ".join(WORDS[place] for place in places)), chance.sample(target, len(target))))
    return found


def read(shortlist: bytes) -> dict[str, list[str]]:
    rows = (line.split("\t") for line in shortlist.decode().splitlines())
    return {source: targets.split() for source, targets in rows}


def test_most_likely_piece_comes_first() -> None:
    found = read(learn_shortlist(pairs(200), BOTH))
    for place in range(12):
        assert found[f"▁{WORDS[place]}"][0] == f"▁{WORDS[place + 20]}"
    assert set(found[""]) == {f"▁{word}" for word in WORDS[20:32]}


def test_nothing_to_learn_from_gives_an_empty_list() -> None:
    assert read(learn_shortlist([], BOTH)) == {"": []}


def test_export_with_shortlist_gives_the_same_text(tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2", reason="CTranslate2 is not installed")
    stack = TransformerStackConfig(layers=1, width=24, heads=2, ffn_width=20)
    bundle = random_translator(TransformerConfig(encoder=stack, decoder=stack, norm="pre"))
    export_ctranslate2(bundle, tmp_path / "all", quantization="float32")
    allowed = WORDS[3:8]
    shortlist = ("\t" + " ".join(f"▁{word}" for word in allowed) + "\n▁ba\t▁ra\n").encode()
    export_ctranslate2(bundle, tmp_path / "some", quantization="float32", shortlist=shortlist)
    lines = [*texts(10), "ba ba"]
    free = {word for one in load(tmp_path / "all").translate(lines, beam_size=1) for word in one.text.split()}
    bound = {word for one in load(tmp_path / "some").translate(lines, beam_size=1) for word in one.text.split()}
    assert bound <= {*allowed, "ra", "⁇"}
    assert not free <= {*allowed, "ra", "⁇"}
    assert bound


@pytest.mark.parametrize(
    ("shortlist", "problem"),
    [
        (bytes(range(10, 256)), "line 1 of the vocabulary map"),
        (b"", "line 1 of the vocabulary map"),
        ("\t▁ra\n▁ba\t▁ra\t▁ra\n".encode(), "line 2 of the vocabulary map"),
        ("\t▁ra ▁x ▁y\n".encode(), "3 of the 3 target pieces of the vocabulary map, such as '▁ra'"),
    ],
)
def test_a_map_of_something_else_is_refused(tmp_path: Path, shortlist: bytes, problem: str) -> None:
    pytest.importorskip("ctranslate2", reason="CTranslate2 is not installed")
    bundle = random_translator(TransformerConfig())
    with pytest.raises(RegardError, match=problem):
        export_ctranslate2(bundle, tmp_path / "some", quantization="float32", shortlist=shortlist)
    assert not (tmp_path / "some").exists()
