"""The speed limit of greedy search in torch: our engine next to a minimal loop with the same output.

    .venv/bin/python benchmarks/decoding_floor.py --model runs/multi30k-transformer/model

The minimal loop supports one kind of model (a post-norm Transformer with sinusoidal positions), calls no module, checks
no number, joins the matrices of queries, keys and values, and has no beam, prefix, score or recording. The difference
is the cost of a general engine; the rest is torch. Both decode the same batches on one thread, interleaved. It prints a
JSON line for each timing, then one for the ratio. The exit code is 1 if the outputs differ.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from regard.attention.key_value_cache import KeyValues
from regard.batch import encode_source_rows
from regard.config import DecodingConfig
from regard.decoding.loop import generate
from regard.errors import RegardError
from regard.inference.interface import batches_by_length
from regard.inference.open import load
from regard.inference.translator import Translator
from regard.layers.positions import sinusoidal
from regard.layers.transformer_block import SelfAttention, TransformerBlock
from regard.models.transformer import TransformerModel
from regard.process import configure_malloc
from regard.special_tokens import BEGIN, END, MASK, PADDING

LEAST = 16  # keys: torch's softmax over fewer is ten times slower
SHED_SHARE = 0.25
NEVER_SAID = torch.tensor([PADDING, BEGIN, MASK])
Rows = list[list[int]]


class Weights(NamedTuple):
    """Of one decoder block; each pair is a matrix and its bias, or a norm's two vectors."""

    joined: tuple[Tensor, Tensor]
    self_output: tuple[Tensor, Tensor]
    query: tuple[Tensor, Tensor]
    cross_output: tuple[Tensor, Tensor]
    fc1: tuple[Tensor, Tensor]
    fc2: tuple[Tensor, Tensor]
    norms: tuple[tuple[Tensor, Tensor], ...]


class BareDecoder:
    """Greedy search written out for one kind of model."""

    def __init__(self, model: TransformerModel) -> None:
        self.model = model
        self.table = model.target_embedding.tokens.weight.detach()
        self.width = self.table.shape[1]
        self.blocks = [_weights(block) for block in model.decoder.blocks]  # type: ignore[arg-type]
        self.heads: int = model.decoder.blocks[0].cross_attention.heads  # type: ignore[union-attr,assignment]

    @torch.inference_mode()
    def decode(self, rows: Rows, config: DecodingConfig) -> Rows:
        """The words of each row."""
        self._look_at(rows)
        outputs: Rows = [[] for _ in rows]
        places, generated = torch.arange(len(rows)), torch.empty(len(rows), 0, dtype=torch.long)
        limits = torch.tensor([config.max_output_tokens(len(row) + 1) for row in rows])
        newest, is_done = torch.full((len(rows),), BEGIN), torch.zeros(len(rows), dtype=torch.bool)
        while len(places):
            newest = self._next_tokens(newest, generated.shape[1])
            generated = torch.cat([generated, newest[:, None]], dim=1)
            is_done |= (newest == END) | (generated.shape[1] >= limits)
            if is_done.all() or is_done.float().mean() >= SHED_SHARE:
                for place, tokens in zip(places[is_done].tolist(), generated[is_done].tolist(), strict=True):
                    outputs[place] = tokens[: tokens.index(END)] if END in tokens else tokens
                kept = (~is_done).nonzero()[:, 0]
                places, generated, limits, newest, is_done = (
                    part[kept] for part in (places, generated, limits, newest, is_done)
                )
                self._keep(kept)
        return outputs

    def _look_at(self, rows: Rows) -> None:
        """Encode; keys and values of rows and heads side by side, with at least LEAST of them."""
        source = encode_source_rows(rows)
        memory = self.model.encode(source)
        more = max(0, LEAST - source.tokens.shape[1])
        self.seen = [_side_by_side(one, more) for one in memory.key_values]
        hidden = torch.zeros(len(rows), source.tokens.shape[1]).masked_fill(~source.is_real, float("-inf"))
        hidden = functional.pad(hidden, (0, more), value=float("-inf"))
        self.outset = hidden.repeat_interleave(self.heads, dim=0).unsqueeze(1)
        shape = (len(rows) * self.heads, LEAST, self.width // self.heads)
        self.past = [(torch.zeros(shape), torch.zeros(shape)) for _ in self.blocks]

    def _next_tokens(self, newest: Tensor, step: int) -> Tensor:
        """The most likely next token of each row."""
        self._make_room(step)
        place = sinusoidal(torch.tensor([step]), self.width)  # type: ignore[arg-type]
        x = functional.embedding(newest, self.table).mul_(self.width**0.5).add_(place.float())
        outset = torch.zeros(1, 1, self.past[0][0].shape[1])
        outset[..., step + 1 :] = float("-inf")
        for block, past, seen in zip(self.blocks, self.past, self.seen, strict=True):
            query, key, value = functional.linear(x, *block.joined).view(len(x), 3, self.heads, -1).unbind(1)
            past[0][:, step], past[1][:, step] = key.flatten(0, 1), value.flatten(0, 1)
            x = self._leave(x, self._attend(query, past, outset), block.self_output, block.norms[0])
            query = functional.linear(x, *block.query)
            x = self._leave(x, self._attend(query, seen, self.outset), block.cross_output, block.norms[1])
            x = self._leave(x, functional.linear(x, *block.fc1).relu_(), block.fc2, block.norms[2])
        return functional.linear(x, self.table).index_fill_(1, NEVER_SAID, float("-inf")).argmax(dim=-1)

    def _attend(self, query: Tensor, keys: tuple[Tensor, Tensor], outset: Tensor) -> Tensor:
        width = self.width // self.heads
        asking = query.reshape(-1, 1, width)
        weights = torch.baddbmm(outset, asking, keys[0].transpose(1, 2), alpha=width**-0.5).softmax(dim=-1)
        return torch.bmm(weights, keys[1]).view(-1, self.width)

    def _leave(self, x: Tensor, found: Tensor, matrix: tuple[Tensor, Tensor], norm: tuple[Tensor, Tensor]) -> Tensor:
        return functional.layer_norm(functional.linear(found, *matrix).add_(x), (self.width,), *norm)

    def _make_room(self, step: int) -> None:
        if step >= (room := self.past[0][0].shape[1]):
            space = (0, 0, 0, room)
            self.past = [(functional.pad(key, space), functional.pad(value, space)) for key, value in self.past]

    def _keep(self, kept: Tensor) -> None:
        rows = (kept[:, None] * self.heads + torch.arange(self.heads)).flatten()
        self.past = [(key[rows], value[rows]) for key, value in self.past]
        self.seen = [(key[rows], value[rows]) for key, value in self.seen]
        self.outset = self.outset[rows]


def _side_by_side(seen: KeyValues, more: int) -> tuple[Tensor, Tensor]:
    """Keys and values with rows and heads as one axis, each row padded with invisible positions."""
    space = (0, 0, 0, more)
    return functional.pad(seen.key, space).flatten(0, 1), functional.pad(seen.value, space).flatten(0, 1)


def _weights(block: TransformerBlock) -> Weights:
    assert isinstance(block.self_attention, SelfAttention)
    assert block.cross_attention is not None
    own, cross, ffn = block.self_attention.attention, block.cross_attention, block.feed_forward
    joined = tuple(
        torch.cat([getattr(part, name) for part in (own.query, own.key, own.value)]).detach()
        for name in ("weight", "bias")
    )
    parts = (own.output, cross.query, cross.output, ffn.fc1, ffn.fc2)
    residuals = (block.self_attention_residual, block.cross_attention_residual, block.feed_forward_residual)
    norms = tuple((one.norm.weight, one.norm.bias) for one in residuals)
    return Weights(joined, *[(part.weight, part.bias) for part in parts], norms)  # type: ignore[arg-type,call-arg]


def main() -> int:
    given = _arguments()
    configure_malloc()
    translator = load(given.model, task="translation", engine="torch")
    model, config = _fitting(translator), translator.decoding_config(beam_size=1, nbest=1)
    batches = _batches(translator, given)
    torch.set_num_threads(1)

    def ours(rows: Rows) -> Rows:
        return [own[0].tokens for own in generate(model, encode_source_rows(rows), config, scores=False)]  # type: ignore[arg-type]

    def bare(rows: Rows) -> Rows:
        return BareDecoder(model).decode(rows, config)

    return 0 if compare({"ours": ours, "bare": bare}, batches, given.repetitions) else 1


def compare(ways: dict[str, Callable[[Rows], Rows]], batches: list[Rows], repetitions: int) -> bool:
    """Time both in turn, print the rows, and return whether the outputs are equal."""
    ours, bare = ([row for rows in batches for row in way(rows)] for way in ways.values())
    tokens = sum(len(row) + 1 for row in ours)  # END is a token too
    speeds: dict[str, list[float]] = {name: [] for name in ways}
    for repetition in range(repetitions):
        for name, way in ways.items():
            speeds[name].append(tokens / _seconds_of(way, batches))
            _tell(who=name, repetition=repetition, tokens_per_second=speeds[name][-1])
    ratios = [fast / own for own, fast in zip(*speeds.values(), strict=True)]
    same = sum(one == other for one, other in zip(ours, bare, strict=True))
    middle = statistics.median(ratios)
    _tell(ratio="bare / ours", median=middle, low=min(ratios), high=max(ratios), same_words=same, of=len(ours))
    return ours == bare


def _seconds_of(way: Callable[[Rows], Rows], batches: list[Rows]) -> float:
    begun = time.perf_counter()
    for rows in batches:
        way(rows)
    return time.perf_counter() - begun


def _tell(**row: object) -> None:
    rounded = {key: float(f"{value:.4g}") if isinstance(value, float) else value for key, value in row.items()}
    print(json.dumps(rounded), flush=True)


def _fitting(translator: Translator) -> TransformerModel:
    model, options = translator.bundle.model, translator.config.model
    if not isinstance(model, TransformerModel) or model.output is not None or options.norm != "post":  # type: ignore[union-attr]
        raise RegardError("the bare loop is written for a post-norm Transformer with a tied output; give it one.")
    return model.eval()


def _batches(translator: Translator, given: argparse.Namespace) -> list[Rows]:
    lines = given.source.read_text(encoding="utf-8").splitlines()
    rows = [translator.tokenizers.source.encode(line) for line in lines]
    return [[rows[place] for place in places] for places in batches_by_length(rows, given.batch_tokens)]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--source", type=Path, default=Path("data/multi30k/test2016.lc.tok.en"))
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--repetitions", type=int, default=5)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
