"""Validation: the loss and the scores on the validation set, and probes, whose attention is saved while it forms.

A probe of the validation set is decoded against its reference, so that its tokens stay the same from step to step. A
probe that the user gives has no reference, and is shown with the model's current output.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TypeVar

import msgspec
import torch
from safetensors.torch import save as save_tensors
from torch.nn.functional import cross_entropy

from regard.batch import Batch, ImageFeatures, Images
from regard.bundle import Bundle
from regard.data.pair_readers.text import Pair
from regard.files import atomic_directory
from regard.inference.captioner import Captioner, ImageInput
from regard.inference.classifier import Classifier
from regard.inference.mask_filler import MASK_TEXT, MaskFiller
from regard.inference.text_generator import TextGenerator
from regard.inference.translator import Translator
from regard.metrics.captions import evaluate_captions
from regard.metrics.classification import accuracy, macro_f1
from regard.metrics.text import evaluate, tokenization_for
from regard.tokenization.text import nfc
from regard.tracing.capture import LayerWeights, TokenIdPair, attention_weights
from regard.tracing.image_maps import grid_cells, image_attention
from regard.training.image_dataset import ImageDataset
from regard.training.objective import compute_loss, mask_tokens
from regard.training.runs import ATTENTION_FILE, LABELS_FILE, ProbeLabels, select_probes

MAX_EXAMPLES = 1000  # of the validation set that are used
MAX_CLASSIFIED = 10_000  # one pass each, and no decoding
NUM_SAMPLES = 4
VALIDATION_BATCH_ROWS = 32
Item = TypeVar("Item")


@dataclass(frozen=True)
class Validation:
    """Scores on the validation set, and a few samples: source, reference, output."""

    loss: float
    samples: list[tuple[str, str, str]]
    bleu: float | None = None  # None without references
    chrf: float | None = None
    cider: float | None = None  # of captions only
    accuracy: float | None = None  # of classes only
    macro_f1: float | None = None
    signature: str = ""  # sacrebleu's, of BLEU

    @classmethod
    def empty(cls) -> "Validation":
        """What ranks other than 0 start with."""
        return cls(0.0, [])

    def score(self, metric: str) -> float:
        """The chosen metric, negated if less is better."""
        return -self.loss if metric == "loss" else float(getattr(self, metric) or 0.0)


def validate_pairs(bundle: Bundle, pairs: list[Pair]) -> Validation:
    """Translate the pairs greedily and score the translations."""
    pairs = pairs[:MAX_EXAMPLES]
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    with eval_mode(bundle.model):
        outputs = [output.text for output in Translator(bundle).translate(sources, beam_size=1, nbest=1)]
        loss = mean_loss(bundle, _pair_batches(bundle, pairs))
    tokenize = tokenization_for(bundle.languages[1])
    found = evaluate(outputs, references, tokenize=tokenize, resamples=1, wanted=("BLEU", "chrF2"))
    scores = {one.name: one for one in found}
    samples, bleu = _evenly_spaced_samples(list(zip(sources, references, outputs, strict=True))), scores["BLEU"]
    return Validation(loss, samples, bleu=bleu.value, chrf=scores["chrF2"].value, signature=bleu.signature)


def validate_captions(bundle: Bundle, dataset: ImageDataset) -> Validation:
    """Describe the images greedily and score the captions; the loss is that of each image's first caption."""
    captioned = dataset.captioned[:MAX_EXAMPLES]
    captioner = Captioner(bundle)
    greedy = captioner.decoding_config(beam_size=1, nbest=1)
    with eval_mode(bundle.model):
        sources = (dataset.source(part).to(captioner.device) for part in batches_of_rows(range(len(captioned))))
        outputs = [own[0].text for source in sources for own in captioner.caption_batch(source, greedy)]
        loss = mean_loss(bundle, _caption_batches(bundle, dataset, len(captioned)))
    references = [one.captions for one in captioned]
    scores = {one.name: one.value for one in evaluate_captions(outputs, references, resamples=1)}
    shown = [(one.image.name, one.captions[0], text) for one, text in zip(captioned, outputs, strict=True)]
    chrf = closest_chrf(outputs, references)
    return Validation(loss, _evenly_spaced_samples(shown), bleu=scores["BLEU-4"], chrf=chrf, cider=scores["CIDEr-D"])


def validate_causal_lm(bundle: Bundle, texts: list[str]) -> Validation:
    """The loss on the texts, and the model's continuations of a few."""
    shown = _evenly_spaced_samples(texts[:MAX_EXAMPLES])
    words = [text.split() for text in shown]
    prompts = [" ".join(own[: max(1, len(own) // 2)]) for own in words]  # the first half of each
    with eval_mode(bundle.model):
        loss = mean_loss(bundle, _pair_batches(bundle, [Pair("", text, 0) for text in texts[:MAX_EXAMPLES]]))
        written = TextGenerator(bundle).generate(prompts, beam_size=1, do_sample=False)
    return Validation(loss, [*zip(prompts, shown, (one.text for one in written), strict=True)])


def validate_masked_lm(bundle: Bundle, texts: list[str]) -> Validation:
    """The loss on masked tokens, the same ones every time, and how the model fills a mask in a few texts."""
    samples = []
    with eval_mode(bundle.model):
        loss = mean_loss(bundle, _masked_batches(bundle, texts[:MAX_EXAMPLES]))
        filler = MaskFiller(bundle)
        for text in _evenly_spaced_samples(texts[:MAX_EXAMPLES]):
            words = text.split()
            words[len(words) // 2 : len(words) // 2 + 1] = [MASK_TEXT]
            given = " ".join(words)
            samples.append((given, text, filler.fill([given], top_k=1)[0].text))
    return Validation(loss, samples)


def validate_classes(bundle: Bundle, batches: Iterable[Batch], contents: list[str]) -> Validation:
    """Classify the examples; `contents` are their texts or file names, in the order of the batches."""
    loss, gold, predicted = 0.0, [], []
    with eval_mode(bundle.model), torch.no_grad():
        for batch in batches:
            logits = bundle.model.predict(batch.source).logits[:, 0].float()  # type: ignore[operator]
            classes = batch.outputs.tokens[:, 0]
            loss += float(cross_entropy(logits, classes, reduction="sum"))
            gold += classes.tolist()
            predicted += logits.argmax(dim=-1).tolist()
    labels = bundle.config.data.labels
    samples = [(own, labels[right], labels[best]) for own, right, best in zip(contents, gold, predicted, strict=True)]
    return Validation(
        loss / len(gold),
        _evenly_spaced_samples(samples),
        accuracy=100 * accuracy(gold, predicted),
        macro_f1=100 * macro_f1(gold, predicted),
    )


def validation_rows(rows: Sequence[Item]) -> Sequence[Item]:
    """At most MAX_CLASSIFIED of the rows, evenly spaced: a file may be sorted by class."""
    return rows[:: -(-len(rows) // MAX_CLASSIFIED) or 1]


def _masked_batches(bundle: Bundle, texts: list[str]) -> Iterator[Batch]:
    tokenizer, device = bundle.tokenizers.target, next(bundle.model.parameters()).device
    longest, mask_rate = bundle.max_source_tokens, bundle.config.training.mask_rate
    rows = [row for text in texts if (row := tokenizer.encode(text)[:longest])]
    for part in batches_of_rows(sorted(rows, key=len)):
        masked = [
            mask_tokens(row, Random(str(row)), mask_rate=mask_rate, vocabulary=tokenizer.vocab_size)  # noqa: S311
            for row in part
        ]
        yield Batch.masked([inputs for inputs, _ in masked], [targets for _, targets in masked], device=device)


def closest_chrf(outputs: list[str], references: list[list[str]]) -> float:
    """chrF2 of each output against the closest of its references."""
    from sacrebleu.metrics.chrf import CHRF  # the import takes 0.1 s

    most = max(map(len, references))
    streams = [[nfc(own[min(at, len(own) - 1)]) for own in references] for at in range(most)]
    return float(CHRF().corpus_score([nfc(output) for output in outputs], streams).score)


@contextmanager
def eval_mode(model: torch.nn.Module) -> Iterator[None]:
    """Evaluation mode within the block; afterwards the mode is as before."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


@torch.no_grad()
def mean_loss(bundle: Bundle, batches: Iterable[Batch]) -> float:
    """The cross-entropy per target token, without smoothing."""
    total, count = 0.0, 0
    for batch in batches:
        total += float(compute_loss(bundle.model, batch, smoothing=0.0))
        count += sum(batch.outputs.lengths)
    return total / count


def _pair_batches(bundle: Bundle, pairs: list[Pair]) -> Iterator[Batch]:
    both, device = bundle.tokenizers, next(bundle.model.parameters()).device
    longest = bundle.max_source_tokens
    rows = [(both.source.encode(pair.source)[:longest], both.target.encode(pair.target)[:longest]) for pair in pairs]
    rows.sort(key=lambda row: len(row[1]))
    for part in batches_of_rows(rows):
        yield Batch.from_pairs([source for source, _ in part], [target for _, target in part], device=device)


def _caption_batches(bundle: Bundle, dataset: ImageDataset, count: int) -> Iterator[Batch]:
    device = next(bundle.model.parameters()).device
    encode, longest = bundle.tokenizers.target.encode, bundle.max_source_tokens
    for part in batches_of_rows(range(count)):
        targets = [encode(dataset.captioned[index].captions[0])[:longest] for index in part]
        yield Batch.from_pairs(dataset.source(part), targets, device=device)


def batches_of_rows(rows: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """The rows, as many at once as a validation computes."""
    for start in range(0, len(rows), VALIDATION_BATCH_ROWS):
        yield rows[start : start + VALIDATION_BATCH_ROWS]


def _evenly_spaced_samples(rows: list[Item]) -> list[Item]:
    """A few rows, evenly spaced."""
    return rows[:: max(1, len(rows) // NUM_SAMPLES)][:NUM_SAMPLES]


# --- attention probes


@dataclass(frozen=True)
class Probe:
    """The maps of all layers and heads for one example."""

    labels: ProbeLabels
    maps: LayerWeights


def pair_probes(bundle: Bundle, valid: list[Pair], given: list[str]) -> list[Probe]:
    """The given sentences, or a few of the validation set, neither the shortest nor the longest."""
    pairs = _probe_pairs(bundle, valid, given)
    both = bundle.tokenizers
    labels = [
        ProbeLabels([*both.source.pieces(source), "</s>"], ["<s>", *both.target.pieces(target)])
        for source, target in pairs
    ]
    return [Probe(*one) for one in zip(labels, attention_weights(bundle, pairs), strict=True)]


def caption_probes(bundle: Bundle, valid: ImageDataset, given: list[str]) -> list[Probe]:
    """The images at the given paths, or a few of the validation set."""
    cells, tokenizer = grid_cells(bundle).pieces, bundle.tokenizers.target
    return [
        Probe(ProbeLabels(cells, ["<s>", *tokenizer.pieces(tokens)], name), image_attention(bundle, source, tokens))
        for name, source, tokens in _probe_images(bundle, valid, given)
    ]


def causal_lm_probes(bundle: Bundle, texts: list[str], *, are_given: bool) -> list[Probe]:
    """The given texts, or a few of the validation set, with causal attention."""
    tokenizer, longest = bundle.tokenizers.target, bundle.max_source_tokens
    rows = [tokenizer.encode(text)[:longest] for text in _choose_texts(texts, are_given)]
    labels = [ProbeLabels([], ["<s>", *tokenizer.pieces(row)]) for row in rows]
    maps = attention_weights(bundle, [([], row) for row in rows])
    return [Probe(*one) for one in zip(labels, maps, strict=True)]


def masked_lm_probes(bundle: Bundle, texts: list[str], *, are_given: bool) -> list[Probe]:
    """The given texts, or a few of the validation set, with bidirectional attention."""
    filler = MaskFiller(bundle)
    traces = [filler.trace(text) for text in _choose_texts(texts, are_given)]
    return [
        Probe(
            ProbeLabels(one.source.pieces, []),
            {layer.name: numbers.weights for layer, numbers in zip(one.layers, one.arrays, strict=True)},
        )
        for one in traces
    ]


def class_probes(bundle: Bundle, examples: Sequence[tuple[ImageInput, str]]) -> list[Probe]:
    """The attention over these texts or images, with the label of each, which names the query that pools them."""
    classifier, probes = Classifier(bundle), []
    for given, label in examples:
        trace = classifier.trace(given)
        name = Path(given).name if isinstance(given, Path) else ""
        maps = {layer.name: numbers.weights for layer, numbers in zip(trace.layers, trace.arrays, strict=True)}
        probes.append(Probe(ProbeLabels(trace.source.pieces, [label], name), maps))
    return probes


def save_probes(directory: Path, probes: list[Probe]) -> None:
    """Write every map of every probe."""
    tensors = {
        f"{index}/{name}": torch.from_numpy(weights).half().contiguous()
        for index, probe in enumerate(probes)
        for name, weights in probe.maps.items()
    }
    with atomic_directory(directory) as staging:
        (staging / LABELS_FILE).write_bytes(msgspec.json.encode([probe.labels for probe in probes]))
        (staging / ATTENTION_FILE).write_bytes(save_tensors(tensors))


def _probe_pairs(bundle: Bundle, valid: list[Pair], given: list[str]) -> list[TokenIdPair]:
    both, translator = bundle.tokenizers, Translator(bundle)
    longest = translator.max_source_tokens
    if given:
        outputs = translator.translate(given, beam_size=1, nbest=1)
        sources = [both.source.encode(text)[:longest] for text in given]
        return [(source, output.tokens) for source, output in zip(sources, outputs, strict=True)]
    chosen = select_probes(sorted(valid, key=lambda pair: len(pair.source.split())))
    return [(both.source.encode(pair.source)[:longest], both.target.encode(pair.target)[:longest]) for pair in chosen]


def _probe_images(
    bundle: Bundle, valid: ImageDataset, given: list[str]
) -> list[tuple[str, Images | ImageFeatures, list[int]]]:
    captioner = Captioner(bundle)
    if given:
        outputs = captioner.caption(given, beam_size=1, nbest=1)
        both = zip(given, outputs, strict=True)
        return [(Path(path).name, captioner.to_batch([path]), output.tokens) for path, output in both]
    encode, longest = bundle.tokenizers.target.encode, bundle.max_source_tokens
    return [
        (one.image.name, valid.source([index]).to(captioner.device), encode(one.captions[0])[:longest])
        for index, one in select_probes(list(enumerate(valid.captioned)))
    ]


def _choose_texts(texts: list[str], are_given: bool) -> list[str]:
    return texts if are_given else select_probes(sorted(texts, key=lambda text: len(text.split())))
