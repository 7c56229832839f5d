"""Bergamot, the engine of Firefox, and Marian's own translate an exported model as we do."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from regard.inference.translator import Translator
from regard.interop.marian_native_export import export_marian
from tests.support import bergamot, pymarian
from tests.support.random_translators import MARIAN_STYLES, marian_translator, texts

TEXTS = texts(12)
ENGINES: dict[str, Callable[[Path, list[str]], bergamot.Translated]] = {
    "bergamot": partial(bergamot.translate_with_bergamot, precision="float32"),
    "pymarian": pymarian.translate_with_pymarian,
}
ABSENT = {
    "bergamot": pytest.mark.skipif(not bergamot.is_installed(), reason=f"not installed: {bergamot.INSTALL}"),
    "pymarian": pytest.mark.skipif(not pymarian.is_installed(), reason=f"not installed: {pymarian.INSTALL}"),
}


@pytest.mark.parametrize("style", MARIAN_STYLES)
@pytest.mark.parametrize("engine", [pytest.param(name, marks=ABSENT[name]) for name in ENGINES])
def test_engine_gives_the_same_text(engine: str, style: str, tmp_path: Path) -> None:
    bundle = marian_translator(style)
    export_marian(bundle, tmp_path / "marian")
    theirs = ENGINES[engine](tmp_path / "marian", TEXTS).texts
    ours = Translator(bundle).translate(TEXTS, beam_size=1, max_length_ratio=2.0, max_length_extra=1)
    for own, their in zip(ours, theirs, strict=True):
        words, expected = own.text.split(), their.split()
        length = min(len(words), len(expected))  # the programs have different limits for an output that never ends
        assert words[:length] == expected[:length]
    assert sum(len(their.split()) for their in theirs) > 2 * len(TEXTS)
