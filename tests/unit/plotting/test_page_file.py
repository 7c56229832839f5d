"""A file that needs nothing but itself, the data within it, and a notebook's widget."""

import json
import re
import sys
from base64 import b64decode, b64encode
from hashlib import sha256

import numpy as np
import pytest

import regard.plotting
from regard.bundle import new_bundle
from regard.config import Config, TransformerConfig, TransformerStackConfig
from regard.errors import RegardError
from regard.plotting import html_data as page_data_module
from regard.plotting.html_data import trace_page_data
from regard.tokenization.tokenizer import Tokenizer, TokenizerPair
from regard.tracing.trace import trace_pair
from regard.web.pages import render_html_file
from tests.support.traces import ADDITIVE, GENERAL, TEXT, TRANSFORMER, trace_of

# --- the file --------------------------------------------------------------------------------------------------------


def test_file_has_no_external_references_and_strict_policy() -> None:
    text = render_html_file(trace_page_data(trace_of(TRANSFORMER)), title="a title")
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
    data = trace_page_data(trace_of(TRANSFORMER), name=payload)
    text = render_html_file(data, title=f"</title>{payload}")
    assert payload not in text
    assert text.lower().count("</script") == 2
    (embedded,) = re.findall(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert json.loads(embedded) == json.loads(json.dumps(data))


@pytest.mark.parametrize("name", [TRANSFORMER, ADDITIVE, GENERAL])
def test_the_data_holds_every_number_of_the_trace(name: str) -> None:
    trace = trace_of(name)
    data = trace_page_data(trace)
    for index, numbers in enumerate(trace.arrays):
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
    with_them = trace_page_data(trace_of(TRANSFORMER))["details"]["0"]
    monkeypatch.setattr(page_data_module, "MAX_MATRIX_BYTES", 100)
    without = trace_page_data(trace_of(TRANSFORMER))["details"]["0"]
    assert {"query_weight", "key_weight", "value_weight", "output_weight"} <= with_them.keys()
    assert without.keys() == with_them.keys() - {key for key in with_them if key.endswith(("_weight", "_bias"))}


def test_long_sentence_omits_arithmetic_and_keeps_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_data_module, "MAX_SCORE_BYTES", 100)
    data = trace_page_data(trace_of(TRANSFORMER))
    assert data["details"] == {}
    assert len(data["weights"]) == len(trace_of(TRANSFORMER).layers)


def test_twenty_tokens_on_eight_layers_take_few_megabytes() -> None:
    stack = TransformerStackConfig(layers=4, width=128, heads=4, ffn_width=128)
    tokenizer = Tokenizer.train([TEXT], model_type="word", vocab_size=64)
    model = TransformerConfig(encoder=stack, decoder=stack)
    bundle = new_bundle(Config(model=model), TokenizerPair(tokenizer, tokenizer))
    trace = trace_pair(bundle, [5, 6, 7, 8] * 5, [8, 7, 6, 5] * 5)
    data = trace_page_data(trace)
    assert all("query_weight" in kept for kept in data["details"].values())
    assert len(render_html_file(data, title="large")) < 9e6


# --- the notebook ----------------------------------------------------------------------------------------------------


def test_widget_carries_the_trace_and_its_module() -> None:
    widget = regard.plotting.show(trace_of(TRANSFORMER), name="small")
    assert json.loads(widget.data)["trace"]["text"] == trace_of(TRANSFORMER).text
    assert json.loads(widget.data)["models"][0]["name"] == "small"
    assert widget._esm.rstrip().endswith("export default { render };")
    assert ".regard" in widget._css
    assert {"data", "_esm", "_css"} <= set(widget.get_state())


def test_missing_anywidget_explains_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from regard.plotting.save import _widget_class

    _widget_class.cache_clear()
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(RegardError, match=r"pip install 'regard\[notebook\]'"):
        regard.plotting.show(trace_of(TRANSFORMER))
