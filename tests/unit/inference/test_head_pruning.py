"""Pruning: gates by finite differences, and a smaller model that equals the masked one."""

from pathlib import Path

import numpy as np
import pytest
import torch

from regard.batch import encode_source_rows
from regard.bundle import load_bundle, save_bundle
from regard.decoding.loop import rescore
from regard.errors import RegardError
from regard.inference.head_ablation import EvaluationSet, Head, heads_of
from regard.inference.head_pruning import count_removable, prune_by_count, sensitivities, without_heads
from regard.interop.ctranslate2 import unsupported_features
from regard.tracing.interventions import intervene
from regard.tracing.trace import trace_texts
from tests.support.small_models import CATALOGUE, LOOKERS
from tests.support.traces import TARGET, TEXT, bundle_of

TRANSFORMERS = [name for name in LOOKERS if name.startswith("transformer")]
RELATIVE = [name for name in TRANSFORMERS if CATALOGUE[name].positions == "relative"]  # type: ignore[union-attr]
TESTS = EvaluationSet([TEXT, "AI"], [TARGET, "AI가"])


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_pruned_model_equals_the_masked_one(name: str, tmp_path: Path) -> None:
    bundle = bundle_of(name)
    roles = ["cross"] if name in RELATIVE else ["encoder-self", "decoder-self", "cross"]
    removed = [head for head in heads_of(bundle) if head.head in (0, 2) and head.role in roles]
    pruned = without_heads(bundle, removed)
    save_bundle(tmp_path / "pruned", pruned)
    loaded = load_bundle(tmp_path / "pruned")
    with intervene(bundle, *[head.removed() for head in removed]):
        expected = trace_texts(bundle, TEXT, TARGET)
    assert trace_texts(loaded, TEXT, TARGET).log_probabilities == pytest.approx(expected.log_probabilities, abs=1e-4)
    assert loaded.num_parameters < bundle.num_parameters
    assert len(heads_of(loaded)) == len(heads_of(bundle)) - len(removed)
    assert any("pruned" in reason for reason in unsupported_features(loaded.config))
    again = without_heads(loaded, [])
    assert again.config.model == loaded.config.model


@pytest.mark.parametrize("name", RELATIVE)
def test_heads_with_a_shared_bias_stay(name: str) -> None:
    bundle = bundle_of(name)
    with pytest.raises(RegardError, match="Give --role cross"):
        without_heads(bundle, [head for head in heads_of(bundle) if head.role == "encoder-self"][:1])


def test_sensitivity_equals_the_slope_of_the_loss() -> None:
    bundle = bundle_of(TRANSFORMERS[0])
    measured = sensitivities(bundle, TESTS)
    both = bundle.tokenizers
    head, slopes = next(one for one in measured if one.role == "cross"), []
    module = next(one for name, one in bundle.model.named_modules() if name.endswith("blocks.0.cross_attention"))
    width = module.output.in_features // module.heads  # type: ignore[union-attr,operator]
    columns = slice(head.head * width, (head.head + 1) * width)
    for source, target in zip(TESTS.sources, TESTS.references, strict=True):
        losses = []
        for gate in (1 - 1e-2, 1 + 1e-2):  # a gate on a head scales its columns of W_O
            with torch.no_grad():
                module.output.weight[:, columns] *= gate  # type: ignore[union-attr,index]
                rows = encode_source_rows([both.source.encode(source)])
                scores = rescore(bundle.model, rows, [both.target.encode(target)], sentences=[0])  # type: ignore[arg-type]
                losses.append(-float(scores.mean()))
                module.output.weight[:, columns] /= gate  # type: ignore[union-attr,index]
        slopes.append(abs(losses[1] - losses[0]) / 2e-2)
    assert measured[head] == pytest.approx(np.mean(slopes), rel=2e-2)


def test_pruning_removes_as_many_heads_as_asked() -> None:
    bundle = bundle_of(TRANSFORMERS[0])
    removable = count_removable(bundle, ())
    removed = prune_by_count(bundle, TESTS, removable)
    assert len(set(removed)) == removable
    left = set(heads_of(bundle)) - set(removed)
    assert len({(one.role, one.layer) for one in left}) == len(left)  # one of each attention
    with pytest.raises(RegardError, match="last head"):
        prune_by_count(bundle, TESTS, removable + 1)
    assert {one.role for one in prune_by_count(bundle, TESTS, 1, ["cross"])} == {"cross"}


def test_only_plain_transformers_are_pruned() -> None:
    with pytest.raises(RegardError, match="Transformer"):
        without_heads(bundle_of(LOOKERS[0]), [])
    with pytest.raises(RegardError, match="image-self"):
        heads_of(bundle_of(LOOKERS[0]), ["image-self"])
    assert str(Head("cross", 1, 0)) == "cross.2.1"
