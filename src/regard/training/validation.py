"""How good the model is now: the loss on the validation set, and its translations against the references."""

from dataclasses import dataclass

import torch

from regard.batch import Batch
from regard.bundle import Bundle
from regard.data import Pair
from regard.metrics import evaluate, tokenization_for
from regard.training.loss import smoothed_loss
from regard.translation.translator import Translator

PAIRS = 1000  # of the validation set that are translated at each validation
SAMPLES = 4
LOSS_ROWS = 32


@dataclass(frozen=True)
class Validation:
    """Scores on the validation set, and a few translations to look at: source, reference, what the model says."""

    loss: float
    bleu: float
    chrf: float
    samples: list[tuple[str, str, str]]

    @classmethod
    def unknown(cls) -> "Validation":
        """What a rank knows before the first one has told it."""
        return cls(0.0, 0.0, 0.0, [])

    def score(self, metric: str) -> float:
        """The chosen metric, turned so that more is better."""
        return {"loss": -self.loss, "bleu": self.bleu, "chrf": self.chrf}[metric]


def validate(bundle: Bundle, pairs: list[Pair]) -> Validation:
    """Translate the pairs greedily and score them; the model is left in the mode it was in."""
    was_training = bundle.model.training
    bundle.model.eval()
    pairs = pairs[:PAIRS]
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    outputs = [output.text for output in Translator(bundle).translate(sources, beam=1, nbest=1)]
    tokenize = tokenization_for(bundle.languages[1])
    scores = {one.name: one.value for one in evaluate(outputs, references, tokenize=tokenize, resamples=1)}
    loss = mean_loss(bundle, pairs)
    bundle.model.train(was_training)
    spread = range(0, len(pairs), max(1, len(pairs) // SAMPLES))
    samples = [(sources[i], references[i], outputs[i]) for i in spread][:SAMPLES]
    return Validation(loss, scores["BLEU"], scores["chrF2"], samples)


@torch.no_grad()
def mean_loss(bundle: Bundle, pairs: list[Pair]) -> float:
    """The cross-entropy of a target token, without smoothing."""
    device = next(bundle.model.parameters()).device
    both = bundle.tokenizers
    rows = [(both.source.encode(pair.source)[:1024], both.target.encode(pair.target)[:1024]) for pair in pairs]
    rows.sort(key=lambda row: len(row[1]))
    total, count = 0.0, 0
    for start in range(0, len(rows), LOSS_ROWS):
        part = rows[start : start + LOSS_ROWS]
        batch = Batch.of([source for source, _ in part], [target for _, target in part], device=device)
        total += float(batch_loss(bundle.model, batch, smoothing=0.0))
        count += sum(batch.outputs.lengths)
    return total / count


def batch_loss(model: torch.nn.Module, batch: Batch, *, smoothing: float) -> torch.Tensor:
    """The summed loss of a batch's real target tokens."""
    memory = model.encode(batch.source)  # type: ignore[operator]
    decoded = model.decode(batch.inputs.tokens, memory, model.start(memory))  # type: ignore[operator]
    is_real = batch.outputs.is_real
    return smoothed_loss(decoded.hidden[is_real], decoded.output, batch.outputs.tokens[is_real], smoothing=smoothing)
