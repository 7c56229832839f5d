"""`probe(model)`: what a linear classifier reads from the vectors of each layer.

A probe is logistic regression from the vector of a word to a property of the word: its identity, its part of speech,
its role, its position. A linear classifier with as many parameters also learns by heart, so every task has a control
task: each word type gets a random tag, with the frequencies of the true ones (Hewitt and Liang, 2019). The difference
of the two accuracies, the selectivity, is what the layer makes easy to read.

    minimise   sum over words of -log softmax(W x + b)[tag]  +  penalty / 2 * |W|^2       x standardised
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from regard.bundle import Bundle
from regard.data.conll import TaggedSentence
from regard.errors import RegardError
from regard.languages import base_code
from regard.tracing.layer_vectors import LayerVectors, Pooling, ProbedStack, layer_vectors, probed_stacks
from regard.worlds.sentences import split

WORD_TASK, POSITION_TASK = "word", "position"
MAX_WORD_TYPES = 50  # the most frequent ones are the classes of the task "word"
MAX_POSITIONS = 16
TEST_SHARE = 0.25  # of the sentences
DEFAULT_MAX_WORDS = 6_000
MAX_ITERATIONS = 100  # of L-BFGS


@dataclass(frozen=True)
class LayerProbe:
    """The accuracies of one layer on a task and on its control task, one for each seed."""

    layer: int
    name: str
    accuracies: list[float]
    control_accuracies: list[float]

    @property
    def accuracy(self) -> float:
        return fmean(self.accuracies)

    @property
    def control_accuracy(self) -> float:
        return fmean(self.control_accuracies)

    @property
    def selectivity(self) -> float:
        """The accuracy beyond that of the control task."""
        return self.accuracy - self.control_accuracy


@dataclass(frozen=True)
class TaskProbe:
    """A task in every layer, and two baselines without a model: the commonest tag, and the commonest of each word."""

    task: str
    classes: int
    words: int
    majority: float
    word_baseline: float
    layers: list[LayerProbe]


@dataclass(frozen=True)
class ProbeReport:
    """Every task in every layer of one stack of a model."""

    model: str
    stack: ProbedStack
    pooling: Pooling
    seeds: int
    tasks: list[TaskProbe]


class Examples(NamedTuple):
    """The words of a task: their rows among all vectors, their texts, sentences and tags."""

    rows: list[int]
    words: list[str]
    sentences: list[int]
    tags: list[str]


def probe(
    model: Any,
    sentences: Sequence[TaggedSentence] | None = None,
    *,
    stack: ProbedStack | None = None,
    tasks: Sequence[str] = (),
    pooling: Pooling = "mean",
    max_words: int = DEFAULT_MAX_WORDS,
    seeds: int = 1,
    language: str | None = None,
    progress: Callable[[int], object] = lambda _count: None,
) -> ProbeReport:
    """Train linear probes on every layer of a model; `model` is an opened model or a bundle.

    Without `sentences`, those of the generated world in the model's language are used. Each seed draws another quarter
    of the sentences for the test, and other tags for the control task. No `tasks`: all that the sentences have tags
    for, and the identity and position of the words. `progress` is called after each probe. For example:

        report = regard.probe(regard.load("world-encoder-only"), max_words=500)
        print(report)
    """
    bundle = getattr(model, "bundle", model)
    if not isinstance(bundle, Bundle):
        raise RegardError("this model was opened without its weights, and probes need them. Open the original model.")
    stack = checked_stack(bundle.model, stack)
    if sentences is None:
        sentences = world_sentences(bundle, stack, max_words, language)
    sentences = first_words(sentences, max_words)
    layers = layer_vectors(
        bundle,
        [sentence.words for sentence in sentences],
        stack=stack,
        sources=[sentence.source for sentence in sentences if sentence.source],
        pooling=pooling,
    )
    is_read = (~layers[0].vectors[:, 0].isnan()).tolist()
    examples = make_examples(sentences, is_read, tasks)
    reports = [_probe_task(task, own, layers, seeds, progress) for task, own in examples.items()]
    return ProbeReport(getattr(model, "name", ""), stack, pooling, seeds, reports)


def checked_stack(model: nn.Module, stack: ProbedStack | None) -> ProbedStack:
    """The stack to probe; an error if the model has no such stack, or reads no words at all."""
    stacks = probed_stacks(model)
    if not stacks:
        raise RegardError(
            "this model has no layers that read words. Give a translator, a language model or a classifier of texts."
        )
    if stack is not None and stack not in stacks:
        raise RegardError(f"this model has no {stack} that reads words; it has {' and '.join(stacks)}.")
    return stack or stacks[0]


def world_sentences(bundle: Bundle, stack: ProbedStack, max_words: int, language: str | None) -> list[TaggedSentence]:
    """Test sentences of the generated world with their tags, on the side and in the language of the stack."""
    source, target = (base_code(code) for code in bundle.config.data.language_pair)
    own = language or (source if stack == "encoder" and source else target)
    if own not in ("en", "ko"):
        raise RegardError(
            f"the language of the model is {own or 'not known'}, and the generated sentences are in English (en) and "
            "Korean (ko). Give tagged words of your own (--words), or choose a language (--language)."
        )
    pairs = split("test", max(1, max_words // 5), word_labels=True)
    tagged = []
    for pair in pairs:
        sides = (pair.source, pair.source_labels), (pair.target, pair.target_labels)
        (text, labels), (other, _) = sides if own == "en" else sides[::-1]
        tags = {"part of speech": [one.part_of_speech for one in labels], "role": [one.role for one in labels]}
        tagged.append(TaggedSentence(text.split(), tags, other if stack == "decoder" and source else ""))
    return tagged


def first_words(sentences: Sequence[TaggedSentence], max_words: int) -> list[TaggedSentence]:
    """The first sentences, of so many words together; all must have the tags of the first."""
    kept, total = [], 0
    for sentence in sentences:
        if total >= max_words:
            break
        kept.append(sentence)
        total += len(sentence.words)
    if len(kept) < 4:
        raise RegardError(f"probes need at least four sentences to train and test on, and got {len(kept)}. Give more.")
    return kept


def make_examples(
    sentences: Sequence[TaggedSentence], is_read: Sequence[bool], tasks: Sequence[str] = ()
) -> dict[str, Examples]:
    """The examples of each task: the words that the model read, the most frequent ones, the first of each sentence."""
    words = [word for sentence in sentences for word in sentence.words]
    numbers = [number for number, sentence in enumerate(sentences) for _ in sentence.words]
    positions = [position for sentence in sentences for position in range(len(sentence.words))]
    common = {word for word, _ in Counter(words).most_common(MAX_WORD_TYPES)}
    tags: dict[str, list[str | None]] = {
        WORD_TASK: [word if word in common else None for word in words],
        POSITION_TASK: [str(position) if position < MAX_POSITIONS else None for position in positions],
    }
    for name in sentences[0].tags:
        tags[name] = [tag for sentence in sentences for tag in sentence.tags[name]]
    if unknown := set(tasks) - set(tags):
        raise RegardError(f"there is no task {sorted(unknown)[0]!r}; choose from {', '.join(tags)}.")
    examples = {}
    for name in tasks or tags:
        own = tags[name]
        rows = [row for row, tag in enumerate(own) if tag is not None and is_read[row]]
        if len({own[row] for row in rows}) < 2:
            raise RegardError(f"every word has the same tag in the task {name!r}; a probe needs at least two.")
        examples[name] = Examples(
            rows, [words[row] for row in rows], [numbers[row] for row in rows], [str(own[row]) for row in rows]
        )
    return examples


def _probe_task(
    task: str, examples: Examples, layers: Sequence[LayerVectors], seeds: int, progress: Callable[[int], object]
) -> TaskProbe:
    classes = sorted(set(examples.tags))
    accuracies: list[list[float]] = [[] for _ in layers]
    controls: list[list[float]] = [[] for _ in layers]
    majority, by_word = [], []
    for seed in range(seeds):
        is_test = split_sentences(examples.sentences, seed)
        baseline = baselines(examples, is_test.tolist())
        majority.append(baseline[0])
        by_word.append(baseline[1])
        true = torch.tensor([classes.index(tag) for tag in examples.tags])
        random = torch.tensor([classes.index(tag) for tag in control_tags(examples, seed)])
        for number, layer in enumerate(layers):
            vectors = standardise(layer.vectors[examples.rows].float(), ~is_test)
            for tags, into in ((true, accuracies), (random, controls)):
                into[number].append(probe_accuracy(vectors, tags, is_test, len(classes)))
                progress(1)
    probes = [
        LayerProbe(number, layer.name, accuracies[number], controls[number]) for number, layer in enumerate(layers)
    ]
    return TaskProbe(task, len(classes), len(examples.rows), fmean(majority), fmean(by_word), probes)


# --- the split, the control task and the baselines -------------------------------------------------------------------


def split_sentences(sentences: Sequence[int], seed: int) -> Tensor:
    """Which words are for the test: those of a random quarter of the sentences."""
    numbers = sorted(set(sentences))
    tested = set(Random(seed).sample(numbers, max(1, round(TEST_SHARE * len(numbers)))))  # noqa: S311
    return torch.tensor([number in tested for number in sentences])


def control_tags(examples: Examples, seed: int) -> list[str]:
    """The tags of the control task: each word type has one, drawn from the distribution of the true tags."""
    random = Random(f"control {seed}")  # noqa: S311
    drawn = {word: random.choice(examples.tags) for word in sorted(set(examples.words))}
    return [drawn[word] for word in examples.words]


def baselines(examples: Examples, is_test: Sequence[bool]) -> tuple[float, float]:
    """The accuracy of the commonest tag, and of the commonest tag of each word, as counted in the training words."""
    counts, by_word = Counter[str](), dict[str, Counter[str]]()
    for word, tag, tested in zip(examples.words, examples.tags, is_test, strict=True):
        if not tested:
            counts[tag] += 1
            by_word.setdefault(word, Counter())[tag] += 1
    common = counts.most_common(1)[0][0]
    best = {word: own.most_common(1)[0][0] for word, own in by_word.items()}
    pairs = [(word, tag) for word, tag, tested in zip(examples.words, examples.tags, is_test, strict=True) if tested]
    return fmean(tag == common for _, tag in pairs), fmean(tag == best.get(word, common) for word, tag in pairs)


# --- logistic regression ---------------------------------------------------------------------------------------------


def standardise(vectors: Float[Tensor, "N W"], is_train: Tensor) -> Float[Tensor, "N W"]:
    """The vectors with mean 0 and variance 1 in each dimension, as measured on the training words."""
    deviation, mean = torch.std_mean(vectors[is_train], dim=0, correction=0)
    return (vectors - mean) / torch.where(deviation > 0, deviation, 1.0)


def probe_accuracy(vectors: Float[Tensor, "N W"], tags: Int[Tensor, " N"], is_test: Tensor, classes: int) -> float:
    """The accuracy on the test words of a probe that was trained on the others."""
    weight, bias = fit_logistic_regression(vectors[~is_test], tags[~is_test], classes)
    predicted = (vectors[is_test] @ weight.T + bias).argmax(dim=1)
    return float((predicted == tags[is_test]).float().mean())


def fit_logistic_regression(
    vectors: Float[Tensor, "N W"],
    tags: Int[Tensor, " N"],
    classes: int,
    *,
    penalty: float = 1.0,
    max_iterations: int = MAX_ITERATIONS,
) -> tuple[Float[Tensor, "classes W"], Float[Tensor, " classes"]]:
    """The weight and bias of multinomial logistic regression, by L-BFGS on all words at once."""
    weight = torch.zeros(classes, vectors.shape[1], dtype=vectors.dtype, requires_grad=True)
    bias = torch.zeros(classes, dtype=vectors.dtype, requires_grad=True)
    optimizer = torch.optim.LBFGS(
        [weight, bias],
        max_iter=max_iterations,
        tolerance_grad=1e-5,
        tolerance_change=1e-9,
        line_search_fn="strong_wolfe",
    )

    def loss() -> Tensor:
        optimizer.zero_grad()
        data = cross_entropy(vectors @ weight.T + bias, tags, reduction="sum")
        total: Tensor = (data + penalty / 2 * weight.square().sum()) / len(vectors)
        total.backward()  # type: ignore[no-untyped-call]
        return total

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    return weight.detach(), bias.detach()
