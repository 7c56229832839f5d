"""Probes: the vectors of every layer are the model's own, and the classifier is scikit-learn's."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from regard.batch import encode_source_rows
from regard.config import Config
from regard.data.conll import TaggedSentence
from regard.decoding.loop import forced_decode
from regard.errors import RegardError
from regard.layers.recurrent import RecurrentLayers
from regard.models.rnn_attention import AttentionRNNModel
from regard.tokenization.tokenizer import Tokenizer
from regard.tracing.layer_vectors import ProbedStack, layer_vectors, probed_stacks, tokenize_words
from regard.tracing.probing import (
    baselines,
    control_tags,
    fit_logistic_regression,
    make_examples,
    probe,
    split_sentences,
    standardise,
)
from tests.support.small_models import CATALOGUE
from tests.support.traces import TARGET, TEXT, bundle_of

STACKS = [(name, stack) for name in CATALOGUE for stack in probed_stacks(bundle_of(name).model)]
WORDS = [TEXT.split(), TEXT.split()[:2]]
TARGET_WORDS = [TARGET.split(), TARGET.split()[1:]]


def words_of(stack: str) -> list[list[str]]:
    return WORDS if stack == "encoder" else TARGET_WORDS


# --- vectors ---------------------------------------------------------------------------------------------------------


def test_every_family_that_reads_words_has_layers() -> None:
    names = {name for name, _ in STACKS}
    assert names == {name for name in CATALOGUE if not name.startswith(("cnn", "captioner", "classifier-image"))}


@pytest.mark.parametrize(("name", "stack"), STACKS)
def test_last_layer_is_the_output_of_the_stack(name: str, stack: ProbedStack) -> None:
    """Normalised as the stack does it, for a Transformer; above the layers of an RNN with attention is its output."""
    bundle, words = bundle_of(name), words_of(stack)[0]
    model: Any = bundle.model
    layers = [one.vectors for one in layer_vectors(bundle, [words], stack=stack, sources=[TEXT])]
    part, outputs = getattr(model, stack), []
    source = encode_source_rows([bundle.tokenizers.source.encode(TEXT)])
    hook = part.register_forward_hook(lambda _module, _given, output: outputs.append(output[0]))
    if stack == "encoder":
        with torch.no_grad():
            model.encode(source)
    else:
        row = bundle.tokenizers.target.encode(" ".join(words))
        hidden = forced_decode(model, source, [row], sentences=[0]).hidden[0, 1:].clone()
        if isinstance(model, AttentionRNNModel):
            torch.testing.assert_close(layers.pop(), hidden, atol=3e-5, rtol=3e-5)
    hook.remove()
    expected = torch.cat(outputs, dim=1)[0].clone()
    last = layers[-1] if isinstance(part, RecurrentLayers) else part.norm(layers[-1]).detach()
    torch.testing.assert_close(last, expected[1:] if stack == "decoder" else expected[:-1], atol=3e-5, rtol=3e-5)


@pytest.mark.parametrize(("name", "stack"), STACKS)
def test_sentences_together_equal_each_alone(name: str, stack: ProbedStack) -> None:
    bundle, words = bundle_of(name), words_of(stack)
    together = layer_vectors(bundle, words, stack=stack, sources=[TEXT] * 2)
    alone = [layer_vectors(bundle, [one], stack=stack, sources=[TEXT]) for one in words]
    for layer, *parts in zip(together, *alone, strict=True):
        torch.testing.assert_close(layer.vectors, torch.cat([part.vectors for part in parts]), atol=3e-5, rtol=3e-5)


def test_a_word_is_made_of_its_pieces() -> None:
    tokenizer = Tokenizer.train([TEXT], model_type="char", vocab_size=64)
    ids, spans = tokenize_words(tokenizer, TEXT.split())
    assert ids == tokenizer.encode(TEXT)
    assert [tokenizer.decode(ids[span.start : span.stop]) for span in spans] == TEXT.split()
    assert [index for span in spans for index in span] == list(range(len(ids)))


def test_pooling_selects_or_averages_pieces() -> None:
    bundle = bundle_of("encoder-only-rotary-tokens")
    pairs = [["AI", "changes the"], ["AI", "changes", "the"]]  # a "word" of two pieces, and both apart
    layers = {
        pooling: layer_vectors(bundle, pairs, stack="encoder", pooling=pooling)[-1].vectors
        for pooling in ("mean", "first", "last")
    }
    _, pooled, _, first, last = layers["mean"]
    torch.testing.assert_close(pooled, (first + last) / 2, atol=3e-5, rtol=3e-5)
    torch.testing.assert_close(layers["first"][1], first, atol=3e-5, rtol=3e-5)
    torch.testing.assert_close(layers["last"][1], last, atol=3e-5, rtol=3e-5)


def test_words_beyond_the_limit_are_not_examples() -> None:
    bundle = bundle_of("encoder-only-learned-tokens")  # 64 positions
    sentences = [TaggedSentence(["AI", "changes"] * 40, {"parity": ["even", "odd"] * 40}) for _ in range(4)]
    [task] = probe(bundle, sentences, tasks=["parity"]).tasks
    assert task.words == 4 * bundle.max_source_tokens < 4 * 80


# --- probes ----------------------------------------------------------------------------------------------------------


def test_classifier_equals_scikit_learn() -> None:
    generator = torch.Generator().manual_seed(5)
    vectors = torch.randn(300, 7, generator=generator, dtype=torch.float64)
    tags = (vectors[:, :4] + torch.randn(300, 4, generator=generator)).argmax(dim=1)
    weight, bias = fit_logistic_regression(vectors, tags, 4, max_iterations=500)
    reference = LogisticRegression(C=1.0, tol=1e-8, max_iter=1000).fit(vectors.numpy(), tags.numpy())
    ours = (vectors @ weight.T + bias).softmax(dim=1).numpy()
    np.testing.assert_allclose(ours, reference.predict_proba(vectors.numpy()), atol=2e-4)
    np.testing.assert_allclose(weight.numpy(), reference.coef_, atol=2e-3)


def sentences_with(tag: Callable[[list[str], int], str], *, count: int = 60) -> list[TaggedSentence]:
    """Random sentences of the words, each word with a tag that follows from its sentence and place."""
    random, words = Random(1), TEXT.split()
    rows = [[random.choice(words) for _ in range(random.randint(2, 6))] for _ in range(count)]
    return [TaggedSentence(row, {"tag": [tag(row, place) for place in range(len(row))]}) for row in rows]


def test_what_the_word_tells_is_read_everywhere() -> None:
    sentences = sentences_with(lambda row, place: str(len(row[place])))
    [word, tag] = probe(bundle_of("encoder-only-rotary-tokens"), sentences, tasks=["word", "tag"], seeds=2).tasks
    for task in (word, tag):
        assert task.word_baseline == 1.0
        assert task.layers[0].accuracies == [1.0, 1.0]
        assert task.layers[0].control_accuracies == [1.0, 1.0]  # five words are learnt by heart as well


def test_context_is_read_above_the_embedding_only() -> None:
    """The word before: unknown to the embedding (rotary, no positions in it), in reach of a layer with attention."""
    sentences = sentences_with(lambda row, place: row[place - 1] if place else "none", count=300)
    [task] = probe(bundle_of("encoder-only-rotary-tokens"), sentences, tasks=["tag"], max_words=2_000).tasks
    embedding, *_, last = task.layers
    assert embedding.accuracy < task.word_baseline + 0.08
    assert last.accuracy > embedding.accuracy + 0.1


def test_noise_is_not_read_from_any_layer() -> None:
    random = Random(2)
    sentences = sentences_with(lambda _row, _place: random.choice("ab"), count=400)
    [task] = probe(bundle_of("encoder-only-rotary-tokens"), sentences, tasks=["tag"]).tasks
    assert all(0.4 < layer.accuracy < 0.6 for layer in task.layers)


def test_control_task_has_one_tag_per_word() -> None:
    examples = make_examples(sentences_with(lambda _row, place: str(place)), [True] * 1_000, ["tag"])["tag"]
    for seed in (0, 1):
        tags = control_tags(examples, seed)
        assert len(set(zip(examples.words, tags, strict=True))) == len(set(examples.words))
        assert set(tags) <= set(examples.tags)
    assert any(control_tags(examples, seed) != control_tags(examples, 0) for seed in range(1, 4))


def test_no_sentence_is_in_training_and_test() -> None:
    sentences = [number for number in range(20) for _ in range(3)]
    is_test = split_sentences(sentences, seed=0).tolist()
    tested = {number for number, own in zip(sentences, is_test, strict=True) if own}
    assert tested.isdisjoint(number for number, own in zip(sentences, is_test, strict=True) if not own)
    assert len(tested) == 5


def test_baselines_count_the_training_words() -> None:
    sentences = [TaggedSentence(["a", "b"], {"tag": ["x", "y"]}) for _ in range(4)]
    examples = make_examples(sentences, [True] * 8, ["tag"])["tag"]
    assert baselines(examples, [False] * 6 + [True] * 2) == (0.5, 1.0)


def test_standardised_by_the_training_words() -> None:
    vectors = torch.randn(50, 3, generator=torch.Generator().manual_seed(0)) * 5 + 2
    vectors[:, 2] = 7.0  # a constant stays finite
    is_train = torch.arange(50) < 40
    scaled = standardise(vectors, is_train)
    torch.testing.assert_close(scaled[:40].mean(0), torch.zeros(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(scaled[:40, :2].std(0, correction=0), torch.ones(2))
    assert scaled.isfinite().all()


def test_default_sentences_are_of_the_model_language() -> None:
    bundle = bundle_of("transformer-pre-attention-sinusoidal")
    config = Config.from_toml(bundle.config.to_toml(), overrides=("data.languages=['en', 'ko']",))
    both = replace(bundle, config=config)
    for stack in ("encoder", "decoder"):
        report = probe(both, stack=stack, tasks=["part of speech", "role"], max_words=300)
        assert report.stack == stack
        assert [task.task for task in report.tasks] == ["part of speech", "role"]
        assert [layer.name for layer in report.tasks[0].layers][:2] == ["embedding", "layer 1"]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("captioner-rnn-gru", {}, "no layers that read words"),
        ("decoder-only-rotary", {"stack": "encoder"}, "no encoder that reads words; it has decoder"),
        ("decoder-only-rotary", {}, "language of the model is not known"),
        ("rnn-gru", {"sentences": sentences_with(lambda _row, _place: "a")}, "same tag in the task 'tag'"),
        ("rnn-gru", {"sentences": sentences_with(lambda _row, _place: "a"), "tasks": ["x"]}, "no task 'x'; choose"),
        ("rnn-gru", {"sentences": sentences_with(lambda _row, _place: "a", count=3)}, "at least four"),
        ("rnn-gru", {"sentences": sentences_with(lambda _row, _place: "a"), "stack": "decoder"}, "needs its source"),
    ],
)
def test_what_cannot_be_probed_is_an_error(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(RegardError, match=message):
        probe(bundle_of(name), **options)
