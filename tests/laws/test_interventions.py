"""Laws of interventions: no change without one, arithmetic by hand with one, and the same in every way of decoding."""

import copy
import threading
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from benchmarks.known_results import move_to_gold_links, read_tests
from hypothesis import given, settings
from torch import Tensor, nn

from regard import pretrained
from regard.attention.hooks import record_attention
from regard.attention.multi_head import MultiHeadAttention
from regard.batch import Images, PaddedTokens
from regard.config import DecodingConfig, RNNCaptionerConfig, RNNConfig, TransformerCaptionerConfig, TransformerConfig
from regard.decoding.loop import generate
from regard.errors import RegardError
from regard.inference.open import load
from regard.interventions import DecodeIntervention, GivenIntervention, PatchIntervention, parse_intervention
from regard.layers.positions import NoPositions
from regard.layers.transformer_block import TransformerStack
from regard.tracing.interventions import captured_values, intervene
from regard.tracing.model_parts import ModelParts
from tests.laws.test_models import WITH_POSITIONS, encoded
from tests.laws.test_stepping import logits_in_pieces
from tests.support.small_models import (
    CATALOGUE,
    GENERATORS,
    LOOKERS,
    READERS,
    SEERS,
    TRANSLATORS,
    Case,
    Small,
    cases,
    for_every,
    forced_logits,
    one_row,
    other_tokens,
    seeds,
)

single = settings(max_examples=1)
GROUPS = 3  # of interventions that are tried together: each alone would take minutes
ATTENDING = [name for name in GENERATORS if not isinstance(CATALOGUE[name], RNNConfig | RNNCaptionerConfig)]
STACKED = [name for name in CATALOGUE if name.startswith(("transformer", "decoder-only", "encoder-only"))]
PATCHED = ["classifier-image-attention-scaled_dot", "classifier-image-attention-additive"]  # Vision Transformers
STACKED_OVER_IMAGES = [
    *PATCHED[1:],
    "classifier-image-first",
    *[name for name in CATALOGUE if name.startswith("captioner-transformer")],
]
CROSSING = [name for name in ATTENDING if isinstance(CATALOGUE[name], TransformerConfig | TransformerCaptionerConfig)]


def run(small: Small, model: Any, case: Case) -> Tensor:
    """The logits of any model of the catalogue, in one pass."""
    source = small.source(case)
    return model(source) if small.name in READERS + SEERS else forced_logits(model, source, case.target.tokens)


def in_float64(names: list[str]) -> Any:
    """The test, once for each of these models, as its argument `small`; one precision is enough for these laws."""
    return pytest.mark.parametrize("small", [Small(name, torch.float64) for name in names], ids=names)


def groups(model: nn.Module) -> list[list[str]]:
    """The interventions that fit a model, in a few lists."""
    texts = fitting(model)
    return [texts[start::GROUPS] for start in range(min(GROUPS, len(texts)))]


def fitting(model: nn.Module) -> list[str]:
    """One intervention of every kind that fits a model, with the positions that every case has."""
    parts = ModelParts(model)
    found = [f"hide.{side}.1" for side in parts.embeddings]
    for role in dict.fromkeys(one.role for one in parts.attentions):
        found += [f"{role}.1.1=zero", f"{role}.*.*=uniform", f"{role}.1.1@1=uniform", f"{role}.*.1@2>1"]
        found += [
            f"{role}.1.*@1=0.25,0.5",
            f"{role}.1.1@1=renormalise",
            f"{role}.1.1@*:1=0.5",
            f"{role}.1.1@2:1=0,keep",
        ]
    for stack in parts.stacks:
        found += [f"without.layer:{stack}.1", f"without.residual:{stack}.1.feed-forward", f"without.layer-norm:{stack}"]
        found += [f"without.positions:{stack}"] * any(one == stack for one, *_ in parts.positions())
    return [*found, *["without.scaling"] * any(one.module.score.name == "scaled_dot" for one in parts.attentions)]


# --- without an intervention -----------------------------------------------------------------------------------------


@for_every(list(CATALOGUE))
@given(cases(shortest=2))
@single
@torch.no_grad()
def test_without_intervention_nothing_changes_by_a_bit(small: Small, case: Case) -> None:
    model = small.build(case.seed)
    expected = run(small, model, case)
    with intervene(model):
        assert torch.equal(run(small, model, case), expected)
    with intervene(model, *fitting(model)):
        pass
    assert torch.equal(run(small, model, case), expected)


@in_float64(list(CATALOGUE))
@given(cases(shortest=2))
@single
@torch.no_grad()
def test_every_intervention_changes_its_rows_alone(small: Small, case: Case) -> None:
    model = small.build(case.seed)
    before = run(small, model, case)
    for texts in groups(model):
        with intervene(model, *texts):
            everywhere = run(small, model, case)
        with intervene(model, *[one for text in texts for one in rows_of(text, 1)]):
            after = run(small, model, case)
        small.assert_same(after[0], before[0])
        small.assert_same(after[1], everywhere[1])


# --- by hand ---------------------------------------------------------------------------------------------------------


@in_float64([*ATTENDING, *READERS, *SEERS])
@given(cases(shortest=2))
@single
@torch.no_grad()
def test_a_disabled_head_equals_arithmetic_by_hand(small: Small, case: Case) -> None:
    model = small.build(case.seed)
    for part in ModelParts(model).attentions:
        name = f"{part.role}.{part.layer + 1}.1=zero"
        outputs: list[Tensor] = []
        projection = part.module.output if isinstance(part.module, MultiHeadAttention) else None
        handle = projection.register_forward_hook(lambda *call, to=outputs: to.append(call[2])) if projection else None
        with intervene(model, name), record_attention(model, details=True) as recording:
            run(small, model, case)
        layer = {key: value.double().numpy() for key, value in recording.layers[part.name].items()}
        context = weights_by_hand(layer) @ layer["value"]
        context[:, 0] = 0.0
        np.testing.assert_allclose(layer["context"], context, atol=small.tolerance, rtol=small.tolerance)
        if projection is not None and handle is not None:
            handle.remove()
            joined = context.transpose(0, 2, 1, 3).reshape(len(context), context.shape[2], -1)
            by_hand = joined @ projection.weight.double().numpy().T
            by_hand += 0 if projection.bias is None else projection.bias.double().numpy()
            np.testing.assert_allclose(torch.cat(outputs, dim=1).double(), by_hand, atol=1e-4, rtol=1e-4)


@in_float64(STACKED + STACKED_OVER_IMAGES)
@given(cases(shortest=2))
@single
@torch.no_grad()
def test_switches_equal_a_model_built_without_the_part(small: Small, case: Case) -> None:
    model = small.build(case.seed)
    for change, rebuild in (
        ("without.layer-norm", without_norms),
        ("without.scaling", without_scaling),
        ("without.positions", without_positions),
        ("without.layer", without_first_block),
    ):
        stack = next(iter(ModelParts(model).stacks))
        text = f"{change}:{stack}.1" if change == "without.layer" else change
        if change == "without.positions" and (small.name not in STACKED or not list(ModelParts(model).positions())):
            continue  # those of a grid are no module that could be replaced
        if change == "without.scaling" and not getattr(CATALOGUE[small.name], "scale_scores", True):
            continue
        with intervene(model, text):
            actual = run(small, model, case)
        small.assert_same(actual, run(small, rebuild(copy.deepcopy(model), stack), case))


# --- the whys --------------------------------------------------------------------------------------------------------


@in_float64(CROSSING)
@given(cases(shortest=2))
@single
@torch.no_grad()
def test_without_cross_attention_the_source_is_inert(small: Small, case: Case) -> None:
    model, source = small.build(case.seed), small.source(case)
    role = "image-cross" if isinstance(source, Images) else "cross"
    other = Images(255 - source.pixels) if isinstance(source, Images) else PaddedTokens.from_rows([[9, 8, 7, 6, 5]] * 2)
    assert small.differ(
        forced_logits(model, source, case.target.tokens), forced_logits(model, other, case.target.tokens)
    )
    with intervene(model, f"{role}.*.*=zero"):
        one, two = (forced_logits(model, given, case.target.tokens) for given in (source, other))
    small.assert_same(one, two)


@in_float64([*TRANSLATORS, *READERS])
@given(seeds)
@single
@torch.no_grad()
def test_a_hidden_source_token_is_inert(small: Small, seed: int) -> None:
    model, target = small.build(seed), torch.tensor([[1, 5, 6]])
    one, other = (PaddedTokens.from_rows([[5, token, 6, 2]]) for token in (7, 8))

    def read(source: PaddedTokens) -> Tensor:
        return model(source) if small.name in READERS else forced_logits(model, source, target)

    assert small.differ(read(one), read(other))
    with intervene(model, "hide.source.2"):
        small.assert_same(read(one), read(other))


@in_float64(GENERATORS)
@given(cases(shortest=3))
@single
@torch.no_grad()
def test_a_hidden_target_token_is_inert(small: Small, case: Case) -> None:
    model, source, target = small.build(case.seed), small.source(case), case.target.tokens
    changed = target.clone()
    changed[:, 1] = other_tokens(target[:, 1])
    with intervene(model, "hide.target.2"):
        small.assert_same(forced_logits(model, source, changed), forced_logits(model, source, target))


@in_float64([name for name in GENERATORS if "ssru" not in name and ("transformer" in name or "decoder-only" in name)])
@given(cases(shortest=2))
@single
@torch.no_grad()
def test_without_the_causal_mask_the_future_leaks(small: Small, case: Case) -> None:
    model, source, target = small.build(case.seed), small.source(case), case.target.tokens
    changed = torch.cat([target[:, :-1], other_tokens(target[:, -1:])], dim=1)
    with intervene(model, "without.causal-mask"):
        assert small.differ(forced_logits(model, source, target)[:, 0], forced_logits(model, source, changed)[:, 0])


@in_float64([name for name in WITH_POSITIONS if name in STACKED])
@given(seeds)
@single
@torch.no_grad()
def test_without_positions_the_encoder_is_permutation_equivariant(small: Small, seed: int) -> None:
    model = small.build(seed)
    one, other = (PaddedTokens.from_rows([row]) for row in ([5, 6, 7, 2], [7, 5, 6, 2]))
    with intervene(model, "without.positions"):
        before, after = encoded(model, one), encoded(model, other)
    small.assert_same(after, before[:, [2, 0, 1, 3]])


@in_float64(PATCHED)
@given(seeds)
@single
@torch.no_grad()
def test_without_positions_patches_are_permutation_equivariant(small: Small, seed: int) -> None:
    model, pixels = small.build(seed), small.pictures(seed).pixels
    size = CATALOGUE[small.name].image_encoder.patch_size  # type: ignore[union-attr]
    swapped = torch.cat([pixels[:, :, size : 2 * size], pixels[:, :, :size], pixels[:, :, 2 * size :]], dim=2)
    columns = pixels.shape[3] // size
    with intervene(model, "without.positions"):
        before, after = (model.encode(Images(one)) for one in (pixels, swapped))
    order = [*range(columns, 2 * columns), *range(columns), *range(2 * columns, before.shape[1])]
    small.assert_same(after, before[:, order])
    assert small.differ(model.encode(Images(swapped)), model.encode(Images(pixels))[:, order])


def test_weights_moved_to_gold_links_change_words() -> None:
    tests = read_tests(Path(pretrained.__file__).parent / "examples/world", ["en", "ko"], 200)
    total, changed = move_to_gold_links(load("world-en-ko", task="translation", engine="torch"), tests)
    assert total > 150
    assert changed >= 0.9 * total


# --- every way of decoding -------------------------------------------------------------------------------------------


@in_float64(GENERATORS)
@given(cases(shortest=2))
@single
@torch.no_grad()
def test_interventions_act_stepwise_as_all_at_once(small: Small, case: Case) -> None:
    model, source, target = small.build(case.seed), small.source(case), case.target.tokens
    for texts in groups(model):
        with intervene(model, *texts):
            stepwise = logits_in_pieces(model, source, target, range(1, target.shape[1]))
            small.assert_same(stepwise, forced_logits(model, source, target))


@in_float64(GENERATORS)
@given(cases(shortest=2))
@single
@torch.no_grad()
def test_rows_of_a_beam_carry_their_own_interventions(small: Small, case: Case) -> None:
    model, source = small.build(case.seed), small.source(case)
    config = DecodingConfig(beam_size=3, nbest=3, max_length_ratio=0, max_length_extra=5)
    texts = [text for text in fitting(model) if "@2" not in text]
    with intervene(model, *[one for text in texts for one in rows_of(text, 1)]):
        together = generate(model, source, config)
    alone = generate(model, one_row(source, 0), config)
    with intervene(model, *texts):
        alone += generate(model, one_row(source, 1), config)
    for own, expected in zip(together, alone, strict=True):
        assert [one.tokens for one in own] == [one.tokens for one in expected]
        np.testing.assert_allclose([one.score for one in own], [one.score for one in expected], atol=1e-4)


@in_float64(list(CATALOGUE))
@given(cases(shortest=2))
@single
@torch.no_grad()
def test_a_thread_without_intervention_is_not_changed(small: Small, case: Case) -> None:
    model, expected, seen = small.build(case.seed), [], []
    expected.append(run(small, model, case))
    with intervene(model, *fitting(model)):
        thread = threading.Thread(target=torch.no_grad()(lambda: seen.append(run(small, model, case))))
        thread.start()
        thread.join(timeout=60)
        assert small.differ(run(small, model, case), expected[0])
    assert torch.equal(seen[0], expected[0])


# --- means, patches and choices --------------------------------------------------------------------------------------


@in_float64(LOOKERS)
@given(cases(shortest=2))
@single
@torch.no_grad()
def test_mean_head_is_the_mean_over_its_sample(small: Small, case: Case) -> None:
    model, source, target = small.build(case.seed), one_row(case.source, 0), one_row(case.target, 0).tokens
    with record_attention(model, details=True) as recording:
        forced_logits(model, source, target)
    sample = [(source, target[0, 1:].tolist())]
    with intervene(model, "cross.1.1=mean", sample=sample), record_attention(model, details=True) as changed:
        forced_logits(model, source, target)
    name = next(part.name for part in ModelParts(model).attentions if part.role == "cross")
    mean = recording.layers[name]["context"][0, 0].mean(dim=0)
    small.assert_same(changed.layers[name]["context"][0, 0], mean.expand_as(changed.layers[name]["context"][0, 0]))


@in_float64([name for name in TRANSLATORS if name.startswith(("rnn", "transformer"))])
@given(seeds)
@single
@torch.no_grad()
def test_a_patched_memory_is_that_of_the_donor(small: Small, seed: int) -> None:
    model, target = small.build(seed), torch.tensor([[2, 5, 6]])
    own, donor = (PaddedTokens.from_rows([[*row, 3]]) for row in ([5, 6, 7], [8, 9, 10]))
    with captured_values([(model, "memory")]) as captured:
        expected = forced_logits(model, donor, target)
    [memory] = captured[id(model), "memory"]
    patches = [
        PatchIntervention(site="memory", position=position, vector=tuple(vector.tolist()))
        for position, vector in enumerate(memory[0])
    ]
    assert small.differ(forced_logits(model, own, target), expected)
    with intervene(model, *patches):
        torch.testing.assert_close(forced_logits(model, own, target), expected, atol=1e-5, rtol=1e-5)  # through float32


@in_float64([name for name in GENERATORS if "transformer" in name or "decoder-only" in name])
@given(cases(shortest=2))
@single
@torch.no_grad()
def test_a_patched_last_block_is_that_of_the_donor(small: Small, case: Case) -> None:
    model, source, target = small.build(case.seed), one_row(small.source(case), 0), one_row(case.target, 0).tokens
    blocks = ModelParts(model).stacks["decoder"].blocks
    with captured_values([(blocks[-1], "block")]) as captured:
        expected = forced_logits(model, source, other_tokens(target))
    [[vectors]] = captured[id(blocks[-1]), "block"]
    patches = [
        PatchIntervention(site="block", stack="decoder", layer=len(blocks) - 1, position=at, vector=tuple(one.tolist()))
        for at, one in enumerate(vectors)
    ]
    assert small.differ(forced_logits(model, source, target), expected)
    with intervene(model, *patches):
        actual = forced_logits(model, source, target)
    torch.testing.assert_close(actual, expected, atol=1e-4, rtol=1e-4)  # through float32


@in_float64(ATTENDING)
@given(cases(shortest=2))
@single
@torch.no_grad()
def test_a_patched_head_has_the_given_context(small: Small, case: Case) -> None:
    model, part = small.build(case.seed), ModelParts(small.build(case.seed)).attentions[-1]
    with record_attention(model, details=True) as before:
        run(small, model, case)
    expected = before.layers[part.name]["context"].clone()
    expected[:, -1, 1] = vector = torch.linspace(-1, 1, expected.shape[-1])
    patch = PatchIntervention(
        site="head", role=part.role, layer=part.layer, head=part.heads - 1, position=1, vector=tuple(vector.tolist())
    )
    with intervene(model, patch), record_attention(model, details=True) as after:
        run(small, model, case)
    small.assert_same(after.layers[part.name]["context"][:, :, :2], expected[:, :, :2])


@in_float64([GENERATORS[0], LOOKERS[0], LOOKERS[-1], "decoder-only-rotary"])
@given(cases(shortest=2))
@single
@torch.no_grad()
def test_choices_are_those_of_the_decoding_config(small: Small, case: Case) -> None:
    model, source = small.build(case.seed), small.source(case)
    plain = DecodingConfig(beam_size=1, max_length_ratio=0, max_length_extra=6)
    for texts, options in (
        (["temperature=2.5"], {"temperature": 2.5}),
        (["top-k=2"], {"top_k": 2}),
        (["top-k=3", "temperature=0.5"], {"top_k": 3, "temperature": 0.5}),
    ):
        torch.manual_seed(case.seed)
        expected = generate(model, source, plain.with_options(do_sample=True, **options))  # type: ignore[arg-type]
        torch.manual_seed(case.seed)
        with intervene(model, *texts):
            assert [own[0].tokens for own in generate(model, source, plain)] == [own[0].tokens for own in expected]
    prefixed = generate(model, source, plain, prefixes=[[6, 5], [6, 5]])
    with intervene(model, DecodeIntervention(prefix=(6, 5))):
        assert [own[0].tokens for own in generate(model, source, plain)] == [own[0].tokens for own in prefixed]


def test_nested_blocks_add_up_and_end() -> None:
    small = Small(LOOKERS[-1], torch.float64)
    model, case = small.build(3), Case((3, 2), (3, 2), 3)
    with intervene(model, "cross.1.1=zero", "cross.1.2=zero"):
        expected = run(small, model, case)
    with intervene(model, "cross.1.1=zero"):
        outer = run(small, model, case)
        with intervene(model, "cross.1.2=zero"):
            assert torch.equal(run(small, model, case), expected)
        assert torch.equal(run(small, model, case), outer)


# --- what does not fit -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rnn-gru", "cross.1.1=zero"),
        ("rnn-gru", "without.residual"),
        ("attending-dot-previous", "without.scaling"),
        ("attending-dot-previous", "cross.1.2=zero"),
        ("attending-dot-previous", "cross.2.1=zero"),
        ("decoder-only-none", "without.positions"),
        ("decoder-only-none", "hide.source.1"),
        ("decoder-only-none", "without.layer:decoder.3"),
        ("encoder-only-none-tokens", "without.causal-mask"),
        ("encoder-only-none-tokens", "temperature=2"),
        ("classifier-image-cnn-0", "image-self.1.1=zero"),
        ("classifier-image-cnn-2", "temperature=2"),
    ],
)
def test_what_does_not_fit_is_an_error(name: str, text: str) -> None:
    model = Small(name, torch.float32).build(0)
    with pytest.raises(RegardError, match="does not apply"), intervene(model, text):
        pass


def test_a_removed_head_cannot_be_disabled() -> None:
    model = Small("transformer-pre-pruned", torch.float32).build(0)
    with pytest.raises(RegardError, match=r"cross attention with 2 \+ 3 heads"), intervene(model, "cross.1.3=zero"):
        pass


# --- helpers ---------------------------------------------------------------------------------------------------------


def rows_of(text: str, row: int) -> list[GivenIntervention]:
    """The interventions of a string for one sentence of the batch."""
    return [msgspec.structs.replace(one, rows=(row,)) for one in parse_intervention(text)]


def weights_by_hand(layer: dict[str, np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """The softmax of the recorded scores over the visible keys; zero where no key is visible."""
    visible = layer["visible"] > 0
    shifted = np.where(visible, layer["scores"], -np.inf)
    shifted = np.where(visible.any(-1, keepdims=True), shifted - shifted.max(-1, keepdims=True), -np.inf)
    powers = np.exp(shifted)
    return powers / np.maximum(powers.sum(-1, keepdims=True), 1e-300)


def without_norms(model: nn.Module, stack: str) -> nn.Module:  # noqa: ARG001
    for name, module in list(model.named_modules()):
        if isinstance(module, nn.LayerNorm | nn.RMSNorm) and not name.startswith(("head.", "grid_projection.")):
            parent, _, own = name.rpartition(".")
            setattr(model.get_submodule(parent), own, nn.Identity())
    return model


def without_scaling(model: nn.Module, stack: str) -> nn.Module:  # noqa: ARG001
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            root = (module.query.out_features // module.heads) ** 0.5
            module.query.weight.mul_(root)
            if module.query.bias is not None:
                module.query.bias.mul_(root)
    return model


def without_positions(model: nn.Module, stack: str) -> nn.Module:  # noqa: ARG001
    for module in list(model.modules()):
        if hasattr(module, "positions"):
            module.positions = NoPositions(module.positions.width)
        if isinstance(module, TransformerStack):
            module.position_bias = None
        if isinstance(module, MultiHeadAttention):
            module.rotate = None
    return model


def without_first_block(model: nn.Module, stack: str) -> nn.Module:
    found = ModelParts(model).stacks[stack]  # type: ignore[index]
    found.blocks = found.blocks[1:]
    return model
