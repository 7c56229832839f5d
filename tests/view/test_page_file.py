"""The page's modules as one, and a file that needs nothing but itself."""

import json
import re
import shutil
import subprocess
import sys
from base64 import b64decode, b64encode
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

import regard.view
from regard.bundle import new_bundle
from regard.config import Config, Stack, TransformerConfig
from regard.errors import RegardError
from regard.tokens import Tokenizer, Tokenizers
from regard.translation.trace import trace_pair
from regard.view import page_data as page_data_module
from regard.view.page_data import page_data
from regard.view.page_file import html_file, one_module
from tests.view.small_traces import ADDITIVE, GENERAL, TEXT, TRANSFORMER, trace_of

ENTRIES = ["main.js", "static.js", "widget.js"]


def write(folder: Path, **modules: str) -> Path:
    for name, text in modules.items():
        (folder / f"{name}.js").write_text(text, encoding="utf-8")
    return folder


# --- one module ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", ENTRIES)
def test_the_pages_modules_become_one_without_imports_and_exports(entry: str) -> None:
    text = one_module(entry)
    assert not re.search(r"^(?:import|export)\b", text, re.MULTILINE)
    assert f"// --- {entry}" in text
    order = re.findall(r"^// --- ([\w-]+\.js)$", text, re.MULTILINE)
    assert len(order) == len(set(order)) > 5
    assert order[-1] == entry


@pytest.mark.parametrize("entry", ENTRIES)
def test_the_one_module_is_javascript(entry: str, tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed here; the browser's tests run the same text")
    path = tmp_path / "page.mjs"
    path.write_text(one_module(entry), encoding="utf-8")
    checked = subprocess.run([node, "--check", path], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_a_module_stands_below_those_it_imports_even_where_two_import_each_other(tmp_path: Path) -> None:
    folder = write(
        tmp_path,
        top='import { left } from "./left.js";\nimport { right } from "./right.js";\nleft(right);\n',
        left='import {\n  right,\n  deep,\n} from "./right.js";\nexport async function left() { return deep; }\n',
        right='import { left } from "./left.js";\nexport let deep = left;\nexport const right = 1;\n',
    )
    text = one_module("top.js", folder=folder)
    assert re.findall(r"--- (\w+)", text) == ["right", "left", "top"]
    assert "async function left()" in text
    assert "import" not in text
    assert "export" not in text


@pytest.mark.parametrize(
    ("other", "problem"),
    [
        ("export default 3;\n", "export default"),
        ('export * from "./entry.js";\n', "export"),
        ('import * as all from "./entry.js";\nexport const other = 1;\n', "import"),
        ("export const other = 1;\nfunction entry() {}\n", "both have 'entry'"),
        ('import { entry as again } from "./entry.js";\nexport const other = 1;\n', "entry as again"),
        ("const hidden = 1;\n", "imports 'other' from other.js"),
    ],
)
def test_a_module_that_breaks_the_rules_is_named(tmp_path: Path, other: str, problem: str) -> None:
    entry = 'import { other } from "./other.js";\nexport const entry = other;\n'
    folder = write(tmp_path, entry=entry, other=other)
    with pytest.raises(RegardError, match=re.escape(problem)):
        one_module("entry.js", folder=folder)


def test_a_module_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=r"nowhere\.js"):
        one_module("entry.js", folder=write(tmp_path, entry='import { a } from "./nowhere.js";\n'))


# --- the file --------------------------------------------------------------------------------------------------------


def test_the_file_names_no_other_place_and_its_policy_allows_its_own_script_alone() -> None:
    text = html_file(page_data(trace_of(TRANSFORMER)), title="a title")
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)
    (script,) = re.findall(r'<script type="module">(.*?)</script>', text, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert policy.startswith("default-src 'none'; ")
    for kind, content in (("script", script), ("style", style)):
        digest = b64encode(sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert "connect-src" not in policy
    assert not re.search(r"""\b(?:src|href)\s*=\s*["']""", text.replace(script, ""))


def test_no_text_can_leave_the_data() -> None:
    payload = "</script><script>alert(1)</script><!--"
    data = page_data(trace_of(TRANSFORMER), name=payload)
    text = html_file(data, title=f"</title>{payload}")
    assert payload not in text
    assert text.lower().count("</script") == 2
    (embedded,) = re.findall(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert json.loads(embedded) == json.loads(json.dumps(data))


@pytest.mark.parametrize("name", [TRANSFORMER, ADDITIVE, GENERAL])
def test_the_data_holds_every_number_of_the_trace(name: str) -> None:
    trace = trace_of(name)
    data = page_data(trace)
    for index, numbers in enumerate(trace.numbers):
        assert (decoded(data["weights"][str(index)]) == numbers.weights).all()
        kept = data["details"][str(index)]
        for part in ("x", "query", "key", "value", "key_inputs", "scores", "context", "output"):
            assert (decoded(kept[part]) == getattr(numbers, part)).all()
        assert (decoded(kept["visible"]) == numbers.visible[0]).all()
    assert data["source"] == TEXT
    assert data["trace"]["text"] == trace.text


def decoded(array: dict[str, object]) -> np.ndarray:
    return np.frombuffer(b64decode(str(array["data"])), dtype="<f4").reshape(array["shape"])  # type: ignore[call-overload]


def test_a_large_models_matrices_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with_them = page_data(trace_of(TRANSFORMER))["details"]["0"]
    monkeypatch.setattr(page_data_module, "MOST_MATRIX_BYTES", 100)
    without = page_data(trace_of(TRANSFORMER))["details"]["0"]
    assert {"query_weight", "key_weight", "value_weight", "output_weight"} <= with_them.keys()
    assert without.keys() == with_them.keys() - {key for key in with_them if key.endswith(("_weight", "_bias"))}


def test_a_long_sentences_arithmetic_is_left_out_and_its_maps_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_data_module, "MOST_SCORE_BYTES", 100)
    data = page_data(trace_of(TRANSFORMER))
    assert data["details"] == {}
    assert len(data["weights"]) == len(trace_of(TRANSFORMER).layers)


def test_twenty_tokens_on_four_and_four_layers_make_a_file_of_a_few_megabytes() -> None:
    stack = Stack(layers=4, width=128, heads=4, inner=128)
    tokenizer = Tokenizer.train([TEXT], kind="word", size=64)
    model = TransformerConfig(encoder=stack, decoder=stack)
    bundle = new_bundle(Config(model=model), Tokenizers(tokenizer, tokenizer))
    trace = trace_pair(bundle, [5, 6, 7, 8] * 5, [8, 7, 6, 5] * 5)
    data = page_data(trace)
    assert all("query_weight" in kept for kept in data["details"].values())
    assert len(html_file(data, title="large")) < 9e6


# --- the notebook ----------------------------------------------------------------------------------------------------


def test_a_widget_carries_the_trace_and_a_module_that_renders_it() -> None:
    widget = regard.view.show(trace_of(TRANSFORMER), name="small")
    assert json.loads(widget.data)["trace"]["text"] == trace_of(TRANSFORMER).text
    assert json.loads(widget.data)["models"][0]["name"] == "small"
    assert widget._esm.rstrip().endswith("export default { render };")
    assert ".regard" in widget._css
    assert {"data", "_esm", "_css"} <= set(widget.get_state())


def test_without_anywidget_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from regard.view.notebook import _widget_class

    _widget_class.cache_clear()
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(RegardError, match=r"pip install 'regard\[notebook\]'"):
        regard.view.show(trace_of(TRANSFORMER))
