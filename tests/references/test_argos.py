"""Argos Translate installs our package and translates with it, in a virtual environment of its own:

    python -m venv build/argos && build/argos/bin/pip install argostranslate==1.11.0

The models of its sentence splitters come from the network, so each text is one sentence here.
"""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from regard.config import TransformerConfig
from regard.inference.translator import Translator
from regard.interop.argos import export_argos
from tests.support.random_translators import STACK, random_translator, texts

PYTHON = Path(os.environ.get("REGARD_ARGOS", Path(__file__).parents[2] / "build/argos/bin/python"))
pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason=f"Argos Translate is not installed: {PYTHON} is absent")
TEXTS = texts(8)
SCRIPT = """
import json, sys
import ctranslate2
from argostranslate import package, translate
package.install_from_path(sys.argv[1])
[installed] = package.get_installed_packages()
class OneSentence:
    def split_sentences(self, text, **options):
        return [text]
translator = ctranslate2.Translator(str(installed.package_path / "model"))
outputs = [
    translate.apply_packaged_translation(installed, text, translator, OneSentence(), num_hypotheses=1)[0].value
    for text in json.loads(sys.argv[2])
]
print(json.dumps([[installed.from_code, installed.to_code], outputs]))
"""


def test_argos_installs_and_uses_our_package(tmp_path: Path) -> None:
    bundle = random_translator(TransformerConfig(encoder=STACK, decoder=STACK, share_embeddings=True, dropout=0.0))
    data = msgspec.structs.replace(bundle.config.data, languages=["en", "fr"])
    bundle = replace(bundle, config=msgspec.structs.replace(bundle.config, data=data))
    path = tmp_path / "translate-en_fr-1_0.argosmodel"
    export_argos(bundle, path)
    command = [str(PYTHON), "-c", SCRIPT, str(path), json.dumps(TEXTS)]
    home = os.environ | {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    home |= {"XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(command, env=home, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    codes, outputs = json.loads(done.stdout.splitlines()[-1])
    assert codes == ["en", "fr"]
    ours = Translator(bundle).translate(
        TEXTS, beam_size=4, length_penalty=0.2, max_length_ratio=0, max_length_extra=255
    )
    for own, their in zip(ours, outputs, strict=True):
        length = min(len(own.text.split()), len(their.split()), 20)
        assert own.text.split()[:length] == their.split()[:length]
    assert any(outputs)
