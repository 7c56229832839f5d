"""Interventions over a running server: what it answers is what `intervene` computes, and errors say what to do."""

from typing import Any

import numpy as np
import pytest

from regard.inference.translator import Translator
from regard.interventions import parse_intervention
from regard.tracing.interventions import intervene
from regard.tracing.trace import trace_texts
from tests.server.test_own_api import floats, translator
from tests.support.own_api_server import OwnApiServer

TEXT = "one red cat"
__all__ = ["translator"]  # a fixture


@pytest.mark.parametrize(
    "change", ["cross.1.1=zero", "cross.*.*=zero", "hide.source.2", "without.scaling", "cross.1.1=mean"]
)
def test_changed_trace_is_decoded_again(own_api: OwnApiServer, translator: Translator, change: str) -> None:
    answer = own_api.post("traces", text=TEXT, interventions=[change]).json()
    sample = [TEXT]
    with intervene(translator, change, sample=sample):
        expected = translator.translate([TEXT])[0]
        trace = trace_texts(translator.bundle, TEXT, expected.text)
    assert answer["text"] == expected.text
    assert answer["interventions"] == [change]
    assert answer["log_probabilities"] == pytest.approx(trace.log_probabilities, abs=1e-4)
    shown = floats(own_api.get(f"traces/{answer['id']}/weights", layer=0, head=0))
    assert shown == pytest.approx(trace.weights(0, 0), abs=1e-5)
    translated = own_api.post("translate", texts=[TEXT], interventions=[change]).json()
    assert translated["translations"][0][0]["text"] == expected.text


def test_mean_is_over_the_texts_of_the_request(own_api: OwnApiServer, translator: Translator) -> None:
    texts, change = [TEXT, " ".join([TEXT] * 8)], "cross.*.*=mean"  # too unequal in length for one batch
    answer = own_api.post("translate", texts=texts, interventions=[change]).json()
    with intervene(translator, change, sample=texts):
        expected = [one.log_probability for one in translator.translate(texts)]
    assert [own[0]["log_probability"] for own in answer["translations"]] == pytest.approx(expected, abs=1e-4)
    rows = {"kind": "head", "role": "cross", "rows": [0]}
    refused = own_api.post("translate", texts=texts, interventions=[rows]).json()
    assert "sorts its inputs into batches" in refused["error"]["message"]


def test_object_and_string_are_the_same(own_api: OwnApiServer) -> None:
    given = {"kind": "row", "role": "cross", "layer": 0, "head": 0, "query": 1, "action": "move", "keys": [0]}
    one = own_api.post("traces", text=TEXT, target=TEXT, interventions=[given]).json()
    other = own_api.post("traces", text=TEXT, target=TEXT, interventions=["cross.1.1@2>1"]).json()
    assert one["interventions"] == other["interventions"] == ["cross.1.1@2>1"]
    assert one["log_probabilities"] == other["log_probabilities"]
    layer = next(index for index, info in enumerate(one["layers"]) if info["role"] == "cross")
    moved = floats(own_api.get(f"traces/{one['id']}/weights", layer=layer, head=0))[1]
    assert moved == pytest.approx(np.eye(len(moved))[0])


def test_measures_equal_those_of_the_trace(own_api: OwnApiServer, translator: Translator) -> None:
    change = "cross.1.1=uniform"
    answer = own_api.post("traces", text=TEXT, interventions=[change]).json()
    with intervene(translator, change):
        trace = trace_texts(translator.bundle, TEXT, answer["text"])
    at = f"traces/{answer['id']}"
    predicted = own_api.get(f"{at}/predictions").json()
    assert trace.prediction is not None
    assert [[one["piece"] for one in own] for own in predicted["positions"]] == [
        [one.piece for one in own] for own in trace.prediction.candidates
    ]
    cold = own_api.get(f"{at}/predictions", temperature=0.5).json()["positions"][0]
    logits = trace.prediction.hidden[0] @ trace.prediction.output.weight.T
    shares = np.exp(2 * logits) / np.exp(2 * logits).sum()
    wanted = [shares[one.token] for one in trace.prediction.candidates[0]]
    assert [one["probability"] for one in cold] == pytest.approx(wanted, rel=1e-3)
    importance = own_api.get(f"{at}/head-importance", position=1).json()
    expected = trace.head_importance(1)
    for shown, layer in zip(importance["layers"], expected.layers, strict=True):
        assert (shown["name"], shown["role"]) == (layer.name, layer.role)
        assert shown["changes"] == pytest.approx(layer.changes, abs=1e-3)
    assert importance["piece"] == answer["target"]["pieces"][2]
    for layer in range(len(trace.layers)):
        norms = floats(own_api.get(f"{at}/norm-weights", layer=layer, head="mean"))
        assert norms == pytest.approx(trace.norm_weights(layer), abs=1e-4)
    zeroed = floats(own_api.get(f"{at}/value-zeroing", layer=0))
    assert zeroed == pytest.approx(trace.value_zeroing(0), abs=1e-3)
    shares = own_api.get(f"{at}/contributions").json()
    assert np.add(shares["source"], shares["prefix"]) == pytest.approx(1.0, abs=1e-5)
    lens = own_api.get(f"{at}/logit-lens", position=1).json()
    assert [one["piece"] for one in lens["layers"][-1]["tokens"]] == [one["piece"] for one in predicted["positions"][1]]


def test_fitting_interventions_list_the_parts(own_api: OwnApiServer) -> None:
    model = own_api.get("models").json()["models"][0]["name"]
    fitting = own_api.get(f"models/{model}/interventions").json()
    assert {one["role"] for one in fitting["attentions"]} == {"encoder-self", "decoder-self", "cross"}
    assert fitting["parts"] == ["scaling", "causal-mask", "positions", "residual", "layer-norm", "layer"]
    assert [one["stack"] for one in fitting["stacks"]] == ["encoder", "decoder"]
    assert fitting["sides"] == ["source", "target"]
    for one in fitting["attentions"]:
        text = f"{one['role']}.{one['layer'] + 1}.{one['heads']}=zero"
        assert own_api.post("traces", text=TEXT, target=TEXT, interventions=[text]).status_code == 200
        assert parse_intervention(text)


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"interventions": ["secret"]}, "bad_intervention"),
        ({"interventions": ["cross.99.1=zero"]}, "bad_intervention"),
        ({"interventions": ["cross.1.1@2>99"]}, "bad_intervention"),
        ({"interventions": ["hide.source.99"]}, "bad_intervention"),
        ({"interventions": ["image-cross.1.1=zero"]}, "bad_intervention"),
        ({"interventions": ["patch.memory@1<99;one"]}, "bad_intervention"),
        ({"interventions": [{"kind": "secret"}]}, "bad_request"),
        ({"interventions": [{"kind": "head", "role": "cross", "layer": -1}]}, "bad_request"),
        ({"interventions": ["without.scaling"] * 33}, "bad_request"),
        ({"interventions": ["prefix=" + "a" * 5001]}, "text_too_long"),
    ],
)
def test_unfit_interventions_are_refused(own_api: OwnApiServer, asked: dict[str, Any], code: str) -> None:
    answer = own_api.post("traces", text=TEXT, **asked)
    assert answer.json()["error"]["code"] == code
    assert "secret" not in answer.text


def test_prefix_and_patch_come_from_texts(own_api: OwnApiServer, translator: Translator) -> None:
    plain = translator.translate(["two blue dogs"])[0].text
    begun = own_api.post("translate", texts=[TEXT], interventions=[f"prefix={plain.split()[0]}"]).json()
    assert begun["translations"][0][0]["text"].startswith(plain.split()[0])
    positions = [f"patch.memory@{place}<{place};two blue dogs" for place in range(1, 5)]
    patched = own_api.post("traces", text=TEXT, interventions=positions).json()
    if len(patched["source"]["pieces"]) == 4:  # then nothing of the own source is left
        assert patched["text"] == plain


def test_beam_tree_ends_in_the_translation(own_api: OwnApiServer) -> None:
    tree = own_api.post("beam", text=TEXT, beam_size=3).json()
    translated = own_api.post("translate", texts=[TEXT], beam_size=3).json()
    assert tree["outputs"][0]["text"] == translated["translations"][0][0]["text"]
    assert tree["beam_size"] == 3
    assert {node["state"] for node in tree["nodes"]} >= {"continued", "finished"}
    refused = own_api.post("beam", text=TEXT, beam_size=99)
    assert refused.status_code == 400


def test_words_without_pieces_are_named(own_api: OwnApiServer) -> None:
    text = "one zebra 쀍"
    unknown = own_api.post("traces", text=text, target="").json()["unknown_words"]
    assert "쀍" in unknown
    assert "one" not in unknown
    assert own_api.post("translate", texts=[text, "one"]).json()["unknown_words"] == [unknown, []]
    model = own_api.get("models").json()["models"][0]["name"]
    assert "one" in own_api.get(f"models/{model}/words").json()["words"]
