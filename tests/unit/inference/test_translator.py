"""Text in, text out: the order of the lines, whatever their batches; options checked; alignments that fit the words."""

from pathlib import Path

import pytest
import torch

from regard.bundle import Bundle, new_bundle, save_bundle
from regard.config import (
    AttentionRNNConfig,
    Config,
    ModelConfig,
    RecurrentLayersConfig,
    RNNConfig,
    TransformerConfig,
    TransformerStackConfig,
)
from regard.errors import RegardError
from regard.inference import torch_engine
from regard.inference.open import load
from regard.inference.translator import Translator
from regard.tokenization.tokenizer import Tokenizer, TokenizerPair
from regard.tracing import capture as attention_maps_module
from regard.tracing.alignment import HeadSelection, align, best_head
from regard.tracing.capture import attention_weights

STACK = TransformerStackConfig(layers=2, width=8, heads=2, ffn_width=12)
ROWS = RecurrentLayersConfig(layers=1, width=8)
ATTENDING = AttentionRNNConfig(embedding_width=8, encoder=ROWS, decoder=ROWS)
TRANSFORMER = TransformerConfig(encoder=STACK, decoder=STACK)
TEXTS = ["ba be bi", "", "da", "de di ba be bi bo bu da", "bo bu", "ba"]
TOKENIZER = Tokenizer.train(["ba be bi bo bu da de di"], model_type="word", vocab_size=32)


def bundle_of(model: ModelConfig) -> Bundle:
    torch.manual_seed(5)
    bundle = new_bundle(Config(model=model), TokenizerPair(TOKENIZER, TOKENIZER))
    bundle.model.eval().double()  # in double precision a batch does not change what a row computes
    return bundle


@pytest.mark.parametrize("model", [ATTENDING, TRANSFORMER], ids=["attending", "transformer"])
def test_many_lines_translate_as_each_alone_in_order(model: ModelConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = Translator(bundle_of(model))
    alone = [translator.translate([text], beam_size=2)[0].text for text in TEXTS]
    monkeypatch.setattr(torch_engine, "BATCH_TOKENS", 16)
    monkeypatch.setattr("regard.inference.translator.CHUNK_LINES", 4)
    assert [output.text for output in translator.translate(TEXTS, beam_size=2)] == alone


def test_model_loads_from_its_directory_or_run(tmp_path: Path) -> None:
    bundle = bundle_of(TRANSFORMER)
    save_bundle(tmp_path / "run" / "model", bundle)
    for place in (tmp_path / "run", str(tmp_path / "run"), tmp_path / "run" / "model"):
        assert load(place).num_parameters == Translator(bundle).num_parameters
    save_bundle(tmp_path / "run" / "model" / "model", bundle_of(ATTENDING))
    assert load(tmp_path / "run" / "model").config.model == TRANSFORMER  # a model is itself, whatever is inside


def test_stream_ends_in_the_translation() -> None:
    translator = Translator(bundle_of(TRANSFORMER))
    *_, last = translator.stream("ba be bi", beam_size=1, nbest=1)
    assert last == translator.translate(["ba be bi"], beam_size=1, nbest=1)[0].text


@pytest.mark.parametrize("text", ["", "  "])
def test_blank_text_gives_no_words(text: str) -> None:
    translator = Translator(bundle_of(TRANSFORMER))
    assert list(translator.stream(text, beam_size=1)) == [translator.translate([text], beam_size=1)[0].text] == [""]


def test_nbest_gives_that_many_the_best_first() -> None:
    outputs = Translator(bundle_of(TRANSFORMER)).nbest(["ba be bi", "da", "de di"], beam_size=4, nbest=3)
    assert [len(own) for own in outputs] == [3, 3, 3]
    assert all(own[0].score >= own[1].score >= own[2].score for own in outputs)


def test_requested_samples_are_drawn_at_any_beam() -> None:
    outputs = Translator(bundle_of(TRANSFORMER)).nbest(["ba be bi", "da"], do_sample=True, nbest=7, beam_size=2)
    assert [len(own) for own in outputs] == [7, 7]


def test_too_long_line_is_cut_and_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.config.MAX_SOURCE_TOKENS", 4)
    outputs = Translator(bundle_of(TRANSFORMER)).translate(TEXTS, beam_size=1, nbest=1)
    assert [output.is_truncated for output in outputs] == [False, False, False, True, False, False]


def test_line_beyond_positions_is_cut_and_others_unchanged() -> None:
    learnt = TransformerConfig(encoder=STACK, decoder=STACK, positions="learned", max_position_embeddings=7)
    translator = Translator(bundle_of(learnt))
    outputs = translator.translate(TEXTS, beam_size=2, align=True, trace=True)
    assert [output.is_truncated for output in outputs] == [False, False, False, True, False, False]
    [alone] = translator.translate(["de di ba be bi bo"], beam_size=2)
    assert outputs[3].tokens == alone.tokens
    assert max(len(output.tokens) for output in outputs) == 6  # and BEGIN: cut at the bound, it was read again
    assert len(align(translator.bundle, [TEXTS[3]], [TEXTS[3]])[0].source_words) == 6


def test_translation_at_its_length_limit_is_marked() -> None:
    translator, texts = Translator(bundle_of(TRANSFORMER)), [text for text in TEXTS if text]
    found = [
        (len(one.tokens) < bound, one.is_finished)
        for bound in range(1, 30)
        for one in translator.translate(texts, beam_size=1, max_length_ratio=0, max_length_extra=bound)
    ]
    assert all(is_short == is_finished for is_short, is_finished in found)
    assert {is_finished for _, is_finished in found} == {True, False}


@pytest.mark.parametrize(
    "options", [{"beem": 3}, {"beam_size": 0}, {"beam_size": "many"}, {"temperature": float("nan")}]
)
def test_a_wrong_option_is_refused_by_name(options: dict[str, object]) -> None:
    with pytest.raises(RegardError, match=next(iter(options))):
        Translator(bundle_of(TRANSFORMER)).translate(["ba"], **options)


def test_one_text_instead_of_a_list_is_refused() -> None:
    translator = Translator(bundle_of(TRANSFORMER))
    for ask in (translator.translate, translator.nbest):
        with pytest.raises(RegardError, match=r"Write \[text\]"):
            ask("ba be")


def test_several_outputs_are_refused_for_single_text_call() -> None:
    with pytest.raises(RegardError, match=r"nbest is 3, but .* call \.nbest\(\[\.\.\.\], nbest=3\)"):
        Translator(bundle_of(TRANSFORMER)).translate(["ba be"], beam_size=4, nbest=3)


@pytest.mark.parametrize(("given", "problem"), [(None, "None, of type NoneType"), (b"ba", "b'ba', of type bytes")])
def test_non_text_is_refused_with_its_index(given: object, problem: str) -> None:
    translator = Translator(bundle_of(TRANSFORMER))
    for ask in (translator.translate, translator.nbest):
        with pytest.raises(RegardError, match=f"text 2 of 3 is {problem}"):
            ask(["ba", given, "be"])  # type: ignore[list-item]


@pytest.mark.parametrize("model", [ATTENDING, TRANSFORMER], ids=["attending", "transformer"])
def test_alignment_has_target_word_rows_source_word_columns(model: ModelConfig) -> None:
    bundle = bundle_of(model)
    [alignment] = align(bundle, ["ba be bi"], ["da de"])
    assert (alignment.source_words, alignment.target_words) == (["ba", "be", "bi"], ["da", "de"])
    assert alignment.weights.shape == (2, 3)
    assert (alignment.weights.sum(axis=1) < 1).all()  # the rest is on the END of the source
    assert {target for _, target in alignment.links} == {0, 1}


def test_a_translation_can_carry_its_alignment() -> None:
    outputs = Translator(bundle_of(TRANSFORMER)).translate(TEXTS, align=True, beam_size=1, nbest=1)
    for text, output in zip(TEXTS, outputs, strict=True):
        assert output.alignment is not None
        assert output.alignment.source_words == text.split()


def test_maps_are_trimmed_to_each_pair_length() -> None:
    pairs = [([5, 6, 7], [8, 9]), ([5], [6, 7, 8, 9])]
    for (source, target), maps in zip(pairs, attention_weights(bundle_of(TRANSFORMER), pairs), strict=True):
        shapes = {name.split(".")[0] + "." + name.split(".")[3]: weights.shape for name, weights in maps.items()}
        assert shapes == {
            "encoder.self_attention": (2, len(source) + 1, len(source) + 1),
            "decoder.self_attention": (2, len(target) + 1, len(target) + 1),
            "decoder.cross_attention": (2, len(target) + 1, len(source) + 1),
        }
        for weights in maps.values():
            assert weights.sum(axis=-1) == pytest.approx(1.0, abs=1e-6)  # nothing of a map was cut away but padding


def test_maps_do_not_depend_on_batch_size(monkeypatch: pytest.MonkeyPatch) -> None:
    bundle, pairs = bundle_of(TRANSFORMER), [([5, 6, 7], [8, 9]), ([5], [6, 7, 8, 9]), ([6, 5], [7])]
    together = list(attention_weights(bundle, pairs, name_contains="cross_attention"))
    monkeypatch.setattr(attention_maps_module, "BATCH_CELLS", 1)
    for many, one in zip(together, attention_weights(bundle, pairs), strict=True):
        assert set(many) == {f"decoder.blocks.{index}.cross_attention" for index in (0, 1)}
        assert all(one[name] == pytest.approx(many[name], abs=1e-6) for name in many)


def test_head_selection_chooses_layer_head_and_row() -> None:
    bundle = bundle_of(TRANSFORMER)
    source, target = TOKENIZER.encode("ba be bi"), TOKENIZER.encode("da de")
    [maps] = attention_weights(bundle, [(source, target)])
    layer = maps["decoder.blocks.1.cross_attention"]
    [answer] = align(bundle, ["ba be bi"], ["da de"], HeadSelection(layer=1, head=0, at="output"))
    [read] = align(bundle, ["ba be bi"], ["da de"], HeadSelection(layer=1, head=0, at="input"))
    assert answer.weights == pytest.approx(layer[0, 0:2, :3], abs=1e-6)
    assert read.weights == pytest.approx(layer[0, 1:3, :3], abs=1e-6)
    [mean] = align(bundle, ["ba be bi"], ["da de"])
    both = [maps[f"decoder.blocks.{index}.cross_attention"].mean(axis=0) for index in (0, 1)]
    assert mean.weights == pytest.approx((both[0] + both[1])[0:2, :3] / 2, abs=1e-6)


def test_best_head_is_the_one_gold_agrees_with() -> None:
    from regard.metrics.alignment import GoldAlignment

    bundle, wanted = bundle_of(TRANSFORMER), HeadSelection(layer=0, head=1, at="input")
    sources, targets = ["ba be bi bo", "da de di", "bu bo be"], ["da de di", "bi be ba bo", "bo da"]
    links = [one.links for one in align(bundle, sources, targets, wanted)]
    best = best_head(bundle, sources, targets, [GoldAlignment(own, own) for own in links])
    assert best.aer == 0.0
    assert [one.links for one in align(bundle, sources, targets, best.selection)] == links


@pytest.mark.parametrize(("layer", "head"), [(2, 0), (0, 2)])
def test_missing_layer_or_head_is_refused(layer: int, head: int) -> None:
    with pytest.raises(RegardError, match="there is no"):
        align(bundle_of(TRANSFORMER), ["ba"], ["da"], HeadSelection(layer=layer, head=head))


def test_a_model_without_attention_cannot_align() -> None:
    with pytest.raises(RegardError, match="no attention"):
        align(bundle_of(RNNConfig(embedding_width=8, encoder=ROWS, decoder=ROWS)), ["ba"], ["da"])
