"""Imported models of every family give the logits and tokens of transformers, and export to the same tensors."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
import transformers
from safetensors.torch import load_file

import regard
from regard.batch import encode_source_rows
from regard.bundle import Bundle, load_bundle, new_bundle
from regard.errors import RegardError
from regard.inference.classifier import Classifier
from regard.inference.mask_filler import MaskFiller
from regard.inference.text_generator import TextGenerator
from regard.interop.huggingface import FAMILIES, export_family
from regard.interop.import_model import detect, write_model
from regard.special_tokens import BEGIN, END
from regard.tracing.model_parts import ModelParts
from tests.support.family_logits import expected_logits, own_logits, plain_tokens
from tests.support.foreign_models import LINES, write_family
from tests.support.small_models import randomise

TEXTS = [LINES[0], "ba Q, bé be!", "kamo"]
CLASSIFIERS, LABELS = ("bert", "distilbert", "roberta"), ["good", "bad", "so so", "none"]
CASES = [(name, seed) for name in FAMILIES for seed in range(6)]


def imported(tmp_path: Path, name: str, seed: int) -> tuple[Any, Bundle]:
    theirs = write_family(tmp_path / "theirs", name, seed)
    write_model(detect(tmp_path / "theirs").load(), tmp_path / "model")
    return theirs, load_bundle(tmp_path / "model")


@pytest.mark.parametrize(("name", "seed"), CASES)
@torch.inference_mode()
def test_logits_and_tensors_equal_those_of_transformers(name: str, seed: int, tmp_path: Path) -> None:
    theirs, bundle = imported(tmp_path, name, seed)
    tokenizer = bundle.tokenizers.target
    backend = transformers.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "theirs/tokenizer.json"))
    for text in TEXTS:
        ids = [tokenizer.original_ids[token] for token in plain_tokens(tokenizer, text)]
        assert ids == backend(text, add_special_tokens=False)["input_ids"]
        expected = expected_logits(theirs, bundle, text)
        torch.testing.assert_close(own_logits(bundle, text), expected, atol=1e-4, rtol=1e-4)
    assert export_family(bundle, tmp_path / "back") == type(theirs).__name__
    before, after = (load_file(tmp_path / folder / "model.safetensors") for folder in ("theirs", "back"))
    assert before.keys() == after.keys()
    for key in before:
        unused = 2 if name == "roberta" and "position_embeddings" in key else 0  # rows that no input reaches
        assert torch.equal(before[key][unused:], after[key][unused:]), key
    again = type(theirs).from_pretrained(tmp_path / "back")
    torch.testing.assert_close(expected_logits(again, bundle, TEXTS[-1]), expected)


@pytest.mark.parametrize("name", FAMILIES)
@torch.inference_mode()
def test_disabled_head_equals_zero_columns_in_transformers(name: str, tmp_path: Path) -> None:
    theirs, bundle = imported(tmp_path, name, 1)
    before = own_logits(bundle, TEXTS[0])
    for part in ModelParts(bundle.model).attentions[-2:]:
        with regard.intervene(bundle, f"{part.role}.{part.layer + 1}.{part.heads}=zero"):
            actual = own_logits(bundle, TEXTS[0])
        assert not torch.allclose(actual, before, atol=1e-3)
        weight = part.module.output.weight  # type: ignore[union-attr]
        kept = weight.clone()
        weight[:, -(weight.shape[1] // part.heads) :] = 0
        export_family(bundle, tmp_path / part.name)
        weight.copy_(kept)
        changed = type(theirs).from_pretrained(tmp_path / part.name).eval()
        torch.testing.assert_close(actual, expected_logits(changed, bundle, TEXTS[0]), atol=1e-4, rtol=1e-4)


def test_generated_text_equals_that_of_transformers(tmp_path: Path) -> None:
    theirs, bundle = imported(tmp_path, "llama", 3)
    tokenizer = bundle.tokenizers.target
    ids = [tokenizer.original_ids[token] for token in (BEGIN, *tokenizer.encode(LINES[1]))]
    expected = theirs.generate(torch.tensor([ids]), max_new_tokens=10, do_sample=False, pad_token_id=0)[0].tolist()[1:]
    [output] = TextGenerator(bundle).generate([LINES[1]], beam_size=1, max_length_extra=10)
    own = [tokenizer.original_ids[token] for token in output.tokens]
    assert own == expected[: len(own)]
    assert len(own) > len(ids) - 1


def test_masks_of_an_imported_model_are_filled(tmp_path: Path) -> None:
    theirs, bundle = imported(tmp_path, "bert", 1)
    filler, tokenizer = MaskFiller(bundle), bundle.tokenizers.target
    [filled] = filler.fill(["ba ___ be"], top_k=1)
    row = filler.encode("ba ___ be")
    given = [tokenizer.original_ids[token] for token in [*row, 3]]
    scores = theirs(torch.tensor([given])).logits[0, row.index(4)]
    scores[[tokenizer.original_ids[token] for token in range(5)]] = -torch.inf
    assert tokenizer.original_ids[filled.tokens[row.index(4)]] == int(scores.argmax())
    assert len(filler.trace("ba ___ be").layers) == bundle.config.model.transformer.layers


def test_model_without_head_explains_itself(tmp_path: Path) -> None:
    config = write_family(tmp_path / "theirs", "bert", 2).config
    model = transformers.BertModel(config)
    model.save_pretrained(tmp_path / "theirs")
    bundle = detect(tmp_path / "theirs").load().to_bundle()
    filler = MaskFiller(bundle)
    with pytest.raises(RegardError, match="no masked-token head"):
        filler.fill(["ba ___"])
    row = bundle.tokenizers.target.encode(LINES[0])
    given = torch.tensor([[bundle.tokenizers.target.original_ids[token] for token in [*row, 3]]])
    expected = model.eval()(given).last_hidden_state
    torch.testing.assert_close(bundle.model.encode(encode_source_rows([row])), expected, atol=1e-4, rtol=1e-4)
    assert filler.trace(LINES[0]).layers
    assert export_family(bundle, tmp_path / "back") == "BertModel"
    before, after = (load_file(tmp_path / folder / "model.safetensors") for folder in ("theirs", "back"))
    assert before.keys() - after.keys() == {"pooler.dense.weight", "pooler.dense.bias"}
    assert all(torch.equal(before[name], tensor) for name, tensor in after.items())


def test_unsupported_settings_are_all_named(tmp_path: Path) -> None:
    write_family(tmp_path / "theirs", "llama", 0)
    path = tmp_path / "theirs/config.json"
    text = path.read_text().replace('"default"', '"yarn"').replace('"attention_bias": false', '"attention_bias": true')
    path.write_text(text.replace('"silu"', '"mish"'))
    with pytest.raises(RegardError) as refused:
        detect(tmp_path / "theirs").load()
    for word in ("yarn", "attention_bias", "mish"):
        assert word in str(refused.value)


@torch.inference_mode()
def test_classifier_gives_the_logits_of_its_export(tmp_path: Path) -> None:
    _, base = imported(tmp_path, "bert", 0)
    model = msgspec.structs.replace(base.config.model, classes=3)  # type: ignore[type-var]
    data = msgspec.structs.replace(base.config.data, labels=["good", "bad", "ugly"])
    bundle = new_bundle(msgspec.structs.replace(base.config, model=model, data=data), base.tokenizers)
    randomise(bundle.model, seed=3).eval()
    assert export_family(bundle, tmp_path / "back") == "BertForSequenceClassification"
    theirs = transformers.BertForSequenceClassification.from_pretrained(tmp_path / "back").eval()
    assert theirs.config.id2label == {0: "good", 1: "bad", 2: "ugly"}
    for text in TEXTS:
        row = base.tokenizers.target.encode(text)
        ids = [base.tokenizers.target.original_ids[token] for token in [*row, END]]
        ours = bundle.model(encode_source_rows([row]))
        torch.testing.assert_close(ours, theirs(torch.tensor([ids])).logits, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("name", "seed"), [(name, seed) for name in CLASSIFIERS for seed in range(6)])
@torch.inference_mode()
def test_classifier_equals_that_of_transformers(name: str, seed: int, tmp_path: Path) -> None:
    theirs = write_family(tmp_path / "theirs", name, seed, labels=LABELS[: 2 + seed % 3])
    write_model(detect(tmp_path / "theirs").load(), tmp_path / "model")
    classifier = regard.load(tmp_path / "model")
    assert isinstance(classifier, Classifier)
    assert classifier.labels == LABELS[: 2 + seed % 3]
    for text, found in zip(TEXTS, classifier.classify(TEXTS), strict=True):
        expected = expected_logits(theirs, classifier.bundle, text)
        torch.testing.assert_close(own_logits(classifier.bundle, text), expected, atol=1e-4, rtol=1e-4)
        assert found.label == theirs.config.id2label[int(expected.argmax())]
    assert export_family(classifier.bundle, tmp_path / "back") == type(theirs).__name__
    before, after = (load_file(tmp_path / folder / "model.safetensors") for folder in ("theirs", "back"))
    assert before.keys() == after.keys()
    for key in before:
        unused = 2 if name == "roberta" and "position_embeddings" in key else 0  # rows that no input reaches
        assert torch.equal(before[key][unused:], after[key][unused:]), key
    assert type(theirs).from_pretrained(tmp_path / "back").config.id2label == theirs.config.id2label


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"problem_type": "multi_label_classification"}, "one class of several"),
        ({"id2label": {"0": "good"}}, "the head has 3 classes"),
    ],
)
def test_classifier_of_another_kind_is_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    write_family(tmp_path / "theirs", "bert", 0, labels=LABELS[:3])
    path = tmp_path / "theirs/config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(RegardError, match=message):
        detect(tmp_path / "theirs").load()
