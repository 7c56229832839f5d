"""How good the model is now: the loss on the validation set, and what it says against the references."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

import torch

from regard.batch import Batch
from regard.bundle import Bundle
from regard.captioning.captioner import Captioner
from regard.data import Pair
from regard.language.blanks import BLANK, take_out
from regard.language.reader import Reader
from regard.language.writer import Writer
from regard.metrics import evaluate, tokenization_for
from regard.metrics.captions import evaluate_captions
from regard.models.interface import Decoded
from regard.spelling import composed
from regard.training.gallery import Gallery
from regard.training.loss import smoothed_loss
from regard.translation.lines import readable
from regard.translation.translator import Translator

EXAMPLES = 1000  # of the validation set that are translated, or described, at each validation
SAMPLES = 4
ROWS_AT_ONCE = 32
Row = TypeVar("Row")


@dataclass(frozen=True)
class Validation:
    """Scores on the validation set, and a few outputs to look at: source, reference, what the model says."""

    loss: float
    samples: list[tuple[str, str, str]]
    bleu: float | None = None  # where something is said that has a reference
    chrf: float | None = None
    cider: float | None = None  # of captions only

    @classmethod
    def unknown(cls) -> "Validation":
        """What a rank knows before the first one has told it."""
        return cls(0.0, [])

    def score(self, metric: str) -> float:
        """The chosen metric, turned so that more is better."""
        return -self.loss if metric == "loss" else float(getattr(self, metric) or 0.0)


def validate_pairs(bundle: Bundle, pairs: list[Pair]) -> Validation:
    """Translate the pairs greedily and score them; the model is left in the mode it was in."""
    pairs = pairs[:EXAMPLES]
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    with in_use(bundle.model):
        outputs = [output.text for output in Translator(bundle).translate(sources, beam=1, nbest=1)]
        loss = mean_loss(bundle, _pair_batches(bundle, pairs))
    tokenize = tokenization_for(bundle.languages[1])
    found = evaluate(outputs, references, tokenize=tokenize, resamples=1, wanted=("BLEU", "chrF2"))
    scores = {one.name: one.value for one in found}
    samples = _spread(list(zip(sources, references, outputs, strict=True)))
    return Validation(loss, samples, bleu=scores["BLEU"], chrf=scores["chrF2"])


def validate_captions(bundle: Bundle, gallery: Gallery) -> Validation:
    """Describe the pictures greedily and score the captions; the loss is that of each picture's first caption."""
    captioned = gallery.captioned[:EXAMPLES]
    captioner = Captioner(bundle)
    greedy = captioner.settings(beam=1, nbest=1)
    with in_use(bundle.model):
        sources = (gallery.source(part).to(captioner.device) for part in _parts(range(len(captioned))))
        outputs = [own[0].text for source in sources for own in captioner.describe(source, greedy)]
        loss = mean_loss(bundle, _caption_batches(bundle, gallery, len(captioned)))
    references = [one.captions for one in captioned]
    scores = {one.name: one.value for one in evaluate_captions(outputs, references, resamples=1)}
    shown = [(one.picture.name, one.captions[0], text) for one, text in zip(captioned, outputs, strict=True)]
    chrf = closest_chrf(outputs, references)
    return Validation(loss, _spread(shown), bleu=scores["BLEU-4"], chrf=chrf, cider=scores["CIDEr-D"])


def validate_writing(bundle: Bundle, texts: list[str]) -> Validation:
    """The loss on the texts; of a few, how the model goes on with their beginnings."""
    shown = _spread(texts[:EXAMPLES])
    beginnings = [_first_half(text) for text in shown]
    with in_use(bundle.model):
        loss = mean_loss(bundle, _pair_batches(bundle, [Pair("", text, 0) for text in texts[:EXAMPLES]]))
        written = Writer(bundle).complete(beginnings, beam=1, sample=False)
    return Validation(loss, [*zip(beginnings, shown, (one.text for one in written), strict=True)])


def validate_cloze(bundle: Bundle, texts: list[str]) -> Validation:
    """The loss on what is taken out of the texts, always the same; of a few, how the model fills their blanks."""
    with in_use(bundle.model):
        loss = mean_loss(bundle, _cloze_batches(bundle, texts[:EXAMPLES]))
        reader = Reader(bundle)
        blanked = [(text, _with_blank(text)) for text in _spread(texts[:EXAMPLES])]
        samples = [(given, text, reader.fill([given], guesses=1)[0].text) for text, given in blanked]
    return Validation(loss, samples)


def _first_half(text: str) -> str:
    words = text.split()
    return " ".join(words[: max(1, len(words) // 2)])


def _with_blank(text: str) -> str:
    """The text with a blank for the word in its middle."""
    words = text.split()
    return " ".join([*words[: len(words) // 2], BLANK, *words[len(words) // 2 + 1 :]])


def _cloze_batches(bundle: Bundle, texts: list[str]) -> Iterator[Batch]:
    tokenizer, device = bundle.tokenizers.target, next(bundle.model.parameters()).device
    longest, share = readable(bundle.model.longest), bundle.config.training.blanks  # type: ignore[arg-type]
    rows = [row for text in texts if (row := tokenizer.encode(text)[:longest])]
    for part in _parts(sorted(rows, key=len)):
        cut = [take_out(row, Random(str(row)), share=share, vocabulary=tokenizer.size) for row in part]  # noqa: S311
        yield Batch.cloze([given for given, _ in cut], [wanted for _, wanted in cut], device=device)


def closest_chrf(outputs: list[str], references: list[list[str]]) -> float:
    """chrF2 of each output against the closest of its references."""
    from sacrebleu.metrics.chrf import CHRF  # here, not above: 0.1 s that other runs need not wait for

    most = max(map(len, references))
    streams = [[composed(own[min(at, len(own) - 1)]) for own in references] for at in range(most)]
    return float(CHRF().corpus_score([composed(output) for output in outputs], streams).score)


@contextmanager
def in_use(model: torch.nn.Module) -> Iterator[None]:
    """The model as it is used, not trained; it is left in the mode it was in."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


@torch.no_grad()
def mean_loss(bundle: Bundle, batches: Iterable[Batch]) -> float:
    """The cross-entropy of a target token, without smoothing."""
    total, count = 0.0, 0
    for batch in batches:
        total += float(batch_loss(bundle.model, batch, smoothing=0.0))
        count += sum(batch.outputs.lengths)
    return total / count


def _pair_batches(bundle: Bundle, pairs: list[Pair]) -> Iterator[Batch]:
    both, device = bundle.tokenizers, next(bundle.model.parameters()).device
    longest = readable(bundle.model.longest)  # type: ignore[arg-type]
    rows = [(both.source.encode(pair.source)[:longest], both.target.encode(pair.target)[:longest]) for pair in pairs]
    rows.sort(key=lambda row: len(row[1]))
    for part in _parts(rows):
        yield Batch.of([source for source, _ in part], [target for _, target in part], device=device)


def _caption_batches(bundle: Bundle, gallery: Gallery, count: int) -> Iterator[Batch]:
    device = next(bundle.model.parameters()).device
    encode, longest = bundle.tokenizers.target.encode, readable(bundle.model.longest)  # type: ignore[arg-type]
    for part in _parts(range(count)):
        targets = [encode(gallery.captioned[index].captions[0])[:longest] for index in part]
        yield Batch.of(gallery.source(part), targets, device=device)


def _parts(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    for start in range(0, len(rows), ROWS_AT_ONCE):
        yield rows[start : start + ROWS_AT_ONCE]


def _spread(rows: list[Row]) -> list[Row]:
    """A few rows, evenly spaced."""
    return rows[:: max(1, len(rows) // SAMPLES)][:SAMPLES]


def batch_loss(model: torch.nn.Module, batch: Batch, *, smoothing: float) -> torch.Tensor:
    """The summed loss of a batch's real target tokens, and what the model itself adds to it in training."""
    decoded = _decoded(model, batch)
    is_real, said = batch.outputs.is_real, batch.outputs.tokens
    loss = smoothed_loss(decoded.hidden[is_real], decoded.output, said[is_real], smoothing=smoothing)
    return loss if decoded.penalty is None else loss + decoded.penalty.sum()


def _decoded(model: Any, batch: Batch) -> Decoded:
    """What the model says of a batch: at each place of a source with blanks, or after each token of a target."""
    if batch.inputs is None:
        return model.read(batch.source)  # type: ignore[no-any-return]
    memory = model.encode(batch.source)
    return model.decode(batch.inputs.tokens, memory, model.start(memory))  # type: ignore[no-any-return]
