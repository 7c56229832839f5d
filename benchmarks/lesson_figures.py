"""The figures of the lesson that come from training: how length, mask and heads change what a small model learns.

    .venv/bin/python benchmarks/lesson_figures.py                # every experiment; a few minutes on two cores
    .venv/bin/python benchmarks/lesson_figures.py heads          # one of them
    .venv/bin/python benchmarks/lesson_figures.py --write        # also write figures.json, which the page shows

All models are trained from random weights. On random digits, with means over three seeds:

- length: digits reversed, by an RNN with a fixed context vector and by one with attention; exact match by length
- mask: digits, a separator, each digit plus one; by a decoder-only model with and without its causal mask in training
- heads: each digit together with its mirror image, by a Transformer with one head and with eight, of equal size
- pronoun: the noun that "it" stands for in generated sentences, by two attention layers that the page computes itself
"""

import argparse
import json
import math
import random
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.batch import Batch, encode_source_rows
from regard.config import (
    AttentionRNNConfig,
    DecoderOnlyConfig,
    DecodingConfig,
    ModelConfig,
    RecurrentLayersConfig,
    RNNConfig,
    TransformerConfig,
    TransformerStackConfig,
)
from regard.decoding.loop import generate
from regard.models.factory import build_model
from regard.special_tokens import PADDING, RESERVED
from regard.tracing.interventions import intervene

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "src" / "regard" / "web" / "views" / "start" / "figures.json"
FIRST_DIGIT = len(RESERVED)
SEPARATOR = FIRST_DIGIT + 10
VOCABULARY = FIRST_DIGIT + 11  # digits and the separator
PAIR_VOCABULARY = FIRST_DIGIT + 100  # pairs of digits
SEEDS = (1, 2, 3)
Row = list[int]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiments", nargs="*", choices=[*EXPERIMENTS, []], help="all of them unless some are named")
    parser.add_argument("--write", action="store_true", help="write the figures that the page shows")
    options = parser.parse_args()
    torch.set_num_threads(1)
    figures: dict[str, Any] = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    for name in options.experiments or EXPERIMENTS:
        figures[name] = EXPERIMENTS[name]()
        print(json.dumps({name: figures[name]}), flush=True)
    if options.write:
        FIGURES.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def random_digits(source: random.Random, length: int, kinds: int = 10) -> Row:
    return [FIRST_DIGIT + source.randrange(kinds) for _ in range(length)]


def train(model: nn.Module, loss: Callable[[], Tensor], *, steps: int, rate: float) -> list[float]:
    """Train with Adam, warm-up and decay; the loss of every step."""
    optimiser = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), fused=True)
    losses = []
    for step in range(1, steps + 1):
        optimiser.param_groups[0]["lr"] = rate * min(1.0, step / 100) * math.sqrt(1 - (step - 1) / steps)
        optimiser.zero_grad()
        value = loss()
        value.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        losses.append(value.item())
    model.eval()
    return losses


def train_pairs(
    config: ModelConfig,
    task: Callable[[Row], Row],
    lengths: range,
    *,
    seed: int,
    steps: int,
    rate: float,
    kinds: int = 10,
    vocabulary: int = VOCABULARY,
) -> nn.Module:
    """A model of digits to digits; each batch has rows of one length."""
    torch.manual_seed(seed)
    source = random.Random(seed)
    model = build_model(config, source_vocabulary=vocabulary, target_vocabulary=vocabulary)

    def loss() -> Tensor:
        length = source.choice(lengths)
        rows = [random_digits(source, length, kinds) for _ in range(32)]
        batch = Batch.from_pairs(rows, [task(row) for row in rows])
        memory = model.encode(batch.source)
        logits = model.decode(batch.inputs.tokens, memory, model.init_state(memory)).logits
        return functional.cross_entropy(logits.flatten(0, 1), batch.outputs.tokens.flatten(), ignore_index=PADDING)

    train(model, loss, steps=steps, rate=rate)
    return model


def outputs_of(model: nn.Module, rows: list[Row]) -> list[Row]:
    """What greedy search outputs."""
    options = DecodingConfig(beam_size=1, max_length_ratio=1.0, max_length_extra=5)
    with torch.inference_mode():
        return [best[0].tokens for best in generate(model, encode_source_rows(rows), options)]


def exact_match(model: nn.Module, task: Callable[[Row], Row], length: int, *, rows: int = 100) -> float:
    source = random.Random(length)
    given = [random_digits(source, length) for _ in range(rows)]
    return fmean(output == task(row) for output, row in zip(outputs_of(model, given), given, strict=True))


def parameters(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


# --- one vector for a whole sentence ---------------------------------------------------------------------------------


def measure_length() -> dict[str, Any]:
    """Exact match of reversed digits by length, with and without attention."""
    lengths = range(2, 13, 2)
    size = {"embedding_width": 24, "dropout": 0.0, "decoder": RecurrentLayersConfig(width=48)}
    kinds: dict[str, ModelConfig] = {
        "fixed": RNNConfig(encoder=RecurrentLayersConfig(width=48), **size),
        "attention": AttentionRNNConfig(encoder=RecurrentLayersConfig(width=48), **size),
    }
    result: dict[str, Any] = {"lengths": list(lengths)}
    for name, config in kinds.items():
        models = [train_pairs(config, reverse, range(1, 13), seed=seed, steps=500, rate=5e-3) for seed in SEEDS]
        matches = [fmean(exact_match(model, reverse, length) for model in models) for length in lengths]
        result[name] = {"parameters": parameters(models[0]), "exact": [round(value, 3) for value in matches]}
    return result


def reverse(row: Row) -> Row:
    return row[::-1]


# --- a mask ----------------------------------------------------------------------------------------------------------

DIGITS = 5


def measure_mask() -> dict[str, Any]:
    """The training loss of a decoder-only model, and the share of digits that it generates correctly."""
    stack = TransformerStackConfig(layers=1, width=32, heads=2, ffn_width=64)
    config = DecoderOnlyConfig(transformer=stack, dropout=0.0)
    result = {}
    for name, removed in (("masked", ()), ("unmasked", ("without.causal-mask",))):
        runs = [_mask_run(config, removed, seed) for seed in SEEDS]
        result[name] = {
            "loss": round(fmean(loss for loss, _ in runs), 4),
            "right": round(fmean(right for _, right in runs), 3),
        }
    return {"digits": DIGITS, **result}


def _mask_run(config: DecoderOnlyConfig, removed: tuple[str, ...], seed: int) -> tuple[float, float]:
    torch.manual_seed(seed)
    source = random.Random(seed)
    model = build_model(config, source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY)

    def loss() -> Tensor:
        digits = torch.tensor([random_digits(source, DIGITS) for _ in range(32)])
        rows = torch.cat([digits, torch.full((32, 1), SEPARATOR), successors(digits)], dim=1)
        logits = next_logits(model, rows[:, :-1])
        return functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())

    with intervene(model, *removed) if removed else nullcontext():
        losses = train(model, loss, steps=300, rate=5e-3)
    digits = torch.tensor([random_digits(source, DIGITS) for _ in range(200)])
    rows = torch.cat([digits, torch.full((200, 1), SEPARATOR)], dim=1)
    with torch.inference_mode():
        for _ in range(DIGITS):  # one digit after another: at inference there is no future to leak
            rows = torch.cat([rows, next_logits(model, rows)[:, -1:].argmax(-1)], dim=1)
    right = (rows[:, DIGITS + 1 :] == successors(digits)).float().mean().item()
    return fmean(losses[-20:]), right


def successors(digits: Tensor) -> Tensor:
    """Each digit plus one, modulo 10."""
    return FIRST_DIGIT + (digits - FIRST_DIGIT + 1) % 10


def next_logits(model: nn.Module, tokens: Tensor) -> Tensor:
    """The scores of the next token at every position."""
    memory = model.encode(encode_source_rows(tokens.tolist()))
    logits: Tensor = model.decode(tokens, memory, model.init_state(memory)).logits
    return logits


# --- many heads ------------------------------------------------------------------------------------------------------


KINDS = 5  # of digits


def measure_heads() -> dict[str, Any]:
    """Pairs right in a task that needs two positions at once, with one head and with eight of the same total width."""
    length = 8
    pairs = {"kinds": KINDS, "vocabulary": PAIR_VOCABULARY}
    result: dict[str, Any] = {"length": length}
    for heads in (1, 8):
        stack = TransformerStackConfig(layers=1, width=64, heads=heads, ffn_width=64)
        config = TransformerConfig(encoder=stack, decoder=stack, dropout=0.0)
        models = [
            train_pairs(config, mirror_pairs, range(length, length + 1), seed=seed, steps=300, rate=5e-3, **pairs)
            for seed in SEEDS
        ]
        right = [pair_accuracy(model, length) for model in models]
        result[str(heads)] = {"parameters": parameters(models[0]), "right": round(fmean(right), 3), "seeds": right}
    return result


def mirror_pairs(row: Row) -> Row:
    """For each digit, one token for the digit and the one at the same distance from the end, in this order."""
    return [
        FIRST_DIGIT + 10 * (one - FIRST_DIGIT) + other - FIRST_DIGIT
        for one, other in zip(row, reversed(row), strict=True)
    ]


def pair_accuracy(model: nn.Module, length: int) -> float:
    """The share of pairs that greedy search outputs correctly."""
    source = random.Random(0)
    rows = [random_digits(source, length, KINDS) for _ in range(200)]
    right = [
        one == other
        for output, row in zip(outputs_of(model, rows), rows, strict=True)
        for one, other in zip(output[:length] + [PADDING] * (length - len(output)), mirror_pairs(row), strict=True)
    ]
    return round(fmean(right), 3)


# --- which word does "it" stand for? ---------------------------------------------------------------------------------

ANIMALS = {"dog": "m", "horse": "m", "cow": "f", "mouse": "f"}  # the gender of the French noun
PLACES = {"bridge": "m", "park": "m", "street": "f", "road": "f"}
OF_ANIMALS, OF_PLACES = ("tired", "hungry", "scared"), ("wide", "long", "busy")
NOUNS = [*ANIMALS, *PLACES]
FRAME = ("the", "", "did", "not", "cross", "the", "", "because", "it", "was", "too", "")
WORDS = [*dict.fromkeys(word for word in FRAME if word), *ANIMALS, *PLACES, *OF_ANIMALS, *OF_PLACES]
IT = FRAME.index("it")
PRONOUN_WIDTH = 12


def measure_pronoun() -> dict[str, Any]:
    """Two attention layers that find the noun; their weights, and how many unseen sentences they get right."""
    sentences = [
        (_sentence(animal, place, adjective), animal if adjective in OF_ANIMALS else place)
        for animal in ANIMALS
        for place in PLACES
        for adjective in (*OF_ANIMALS, *OF_PLACES)
    ]
    random.Random(0).shuffle(sentences)
    tokens = torch.tensor([[WORDS.index(word) for word in words] for words, _ in sentences])
    nouns = torch.tensor([NOUNS.index(noun) for _, noun in sentences])
    trained = len(sentences) * 3 // 4
    torch.manual_seed(0)
    model = PronounModel()

    def loss() -> Tensor:
        size = torch.stack([parameter.pow(2).sum() for parameter in model.parameters()]).sum()
        return functional.cross_entropy(model(tokens[:trained]), nouns[:trained]) + 2e-4 * size

    train(model, loss, steps=500, rate=1e-2)
    weights = {name: _rounded(value) for name, value in model.state_dict().items()}
    model.load_state_dict({name: torch.tensor(value) for name, value in weights.items()})  # what the page computes with
    right = (model(tokens).argmax(-1) == nouns)[trained:]
    return {
        "words": WORDS,
        "genders": {**ANIMALS, **PLACES},
        "sentences": trained,
        "unseen": len(right),
        "right": int(right.sum()),
        "parameters": parameters(model),
        "weights": weights,
    }


def _sentence(animal: str, place: str, adjective: str) -> list[str]:
    blanks = iter((animal, place, adjective))
    return [word or next(blanks) for word in FRAME]


def _rounded(value: Tensor) -> list[list[float]]:
    return [[round(number, 3) for number in row] for row in value.tolist()]


class PronounModel(nn.Module):
    """The word "it" attends to all words twice: the second query contains what the first attention found.

    The values of the second attention are the word vectors themselves, and the score of a noun is the dot product of
    the context with its vector (tied embeddings). So the model has to attend to the noun that it predicts.
    """

    def __init__(self) -> None:
        super().__init__()
        width = PRONOUN_WIDTH
        self.tokens = nn.Parameter(torch.randn(len(WORDS), width) * 0.5)
        self.positions = nn.Parameter(torch.randn(len(FRAME), width) * 0.1)
        for name in ("query1", "key1", "value1", "query2", "key2"):
            self.register_parameter(name, nn.Parameter(torch.randn(width, width) / math.sqrt(width)))

    def forward(self, tokens: Tensor) -> Tensor:
        """The score of each noun for each sentence."""
        embedded = self.tokens[tokens]
        words = embedded + self.positions
        it = words[:, IT]
        first = self._attend(it @ self.query1.T, words @ self.key1.T, words @ self.value1.T)
        context = self._attend((it + first) @ self.query2.T, words @ self.key2.T, embedded)
        return context @ self.tokens[[WORDS.index(noun) for noun in NOUNS]].T

    def _attend(self, query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        weights = (torch.einsum("bd,bkd->bk", query, keys) / math.sqrt(PRONOUN_WIDTH)).softmax(-1)
        return torch.einsum("bk,bkd->bd", weights, values)


EXPERIMENTS: dict[str, Callable[[], dict[str, Any]]] = {
    "length": measure_length,
    "mask": measure_mask,
    "heads": measure_heads,
    "pronoun": measure_pronoun,
}

if __name__ == "__main__":
    main()
