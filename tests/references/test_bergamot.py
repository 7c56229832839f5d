"""Firefox's engine translates an exported model as we do."""

from pathlib import Path

import pytest

from regard.inference.translator import Translator
from regard.interop.marian_native import export_marian
from tests.support.bergamot import INSTALL, is_installed, translate_with_bergamot
from tests.support.random_translators import MARIAN_STYLES, marian_translator, texts

pytestmark = pytest.mark.skipif(not is_installed(), reason=f"Bergamot is not installed: {INSTALL}")
TEXTS = texts(12)


@pytest.mark.parametrize("style", MARIAN_STYLES)
def test_bergamot_gives_the_same_text(style: str, tmp_path: Path) -> None:
    bundle = marian_translator(style)
    export_marian(bundle, tmp_path / "marian")
    theirs = translate_with_bergamot(tmp_path / "marian", TEXTS, precision="float32").texts
    ours = Translator(bundle).translate(TEXTS, beam_size=1, max_length_ratio=2.0, max_length_extra=1)
    for own, their in zip(ours, theirs, strict=True):
        words, expected = own.text.split(), their.split()
        length = min(len(words), len(expected))  # the programs have different limits for an output that never ends
        assert words[:length] == expected[:length]
    assert sum(len(their.split()) for their in theirs) > 2 * len(TEXTS)
