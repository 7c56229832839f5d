"""A Firefox model, imported, against Firefox's own engine: how many sentences have the same tokens.

    python -m tests.support.published_weights
    npm install --prefix benchmarks/bergamot_node --no-package-lock
    .venv/bin/python -m benchmarks.bergamot --source val.en --lines 500

It prints one line for each arithmetic of the engine (Bergamot's wasm in Node): float32, on the weights that
`regard export --to marian` wrote; and the published int8, without and with the shortlist. Then it repeats the sentences
in torch with the engine's int8 arithmetic, in the engine's order of operations: inputs of layers are rounded to int8
and shifted, sums of two products are cut off at 16 bits, and the shift is subtracted in float32 with the bias. Last, it
compares this emulation with itself, the embeddings changed by one part in ten million: rounding to int8 turns the last
digit of a float32 into another input of all later layers, so no other program can agree with the engine more often.

The exit code is 1 if fewer than 97 % of the sentences are equal in float32, or in int8 between engine and emulation.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np
from torch import Tensor

from regard.bundle import Bundle
from regard.config import TransformerConfig
from regard.inference.translator import Translator
from regard.interop.marian import pairs_to_halves
from regard.interop.marian_files import read_activation_scales
from regard.interop.marian_native_arrays import array_names
from regard.interop.marian_native_export import export_marian
from regard.interop.marian_native_import import find_checkpoint, import_marian_native
from regard.layers.embedding import OutputProjection
from tests.support.bergamot import INSTALL, is_installed, translate_with_bergamot

LEAST_EQUAL = 0.97
PERTURBATION = 1e-7  # about the last digit of a float32
MAX_INPUT, MAX_INT16 = 254, 2**15 - 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, default=Path("build/weights/firefox-en-pt"))
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--lines", type=int, default=500)
    given = parser.parse_args()
    if not is_installed():
        parser.error(f"Bergamot is not installed: {INSTALL}")
    checkpoint = find_checkpoint(given.model)
    if checkpoint is None:
        parser.error(f"{given.model} has no model of Marian: python -m tests.support.published_weights")
    texts = given.source.read_text(encoding="utf-8").splitlines()[: given.lines]
    bundle = import_marian_native(checkpoint).to_bundle()
    ours = [output.text for output in Translator(bundle).translate(texts, beam_size=1)]
    [shortlist] = given.model.glob("lex*.bin")
    published = translate_with_bergamot(given.model, texts, precision="int8shiftAlphaAll").texts
    tell("engine, int8, the whole vocabulary", ours, published)
    limited = translate_with_bergamot(given.model, texts, precision="int8shiftAlphaAll", shortlist=shortlist).texts
    tell("engine, int8, the shortlist", ours, limited)
    with TemporaryDirectory() as folder:
        export_marian(bundle, Path(folder) / "marian")
        exact = translate_with_bergamot(Path(folder) / "marian", texts, precision="float32").texts
    share = tell("engine, float32", ours, exact)
    emulate_int8(bundle, checkpoint)
    emulated = [output.text for output in Translator(bundle).translate(texts, beam_size=1)]
    emulated_share = tell("engine, int8, the whole vocabulary", emulated, published, ours_is="emulation")
    bundle.model.source_embedding.tokens.scale *= 1 + PERTURBATION  # type: ignore[union-attr, operator]
    perturbed = [output.text for output in Translator(bundle).translate(texts, beam_size=1)]
    tell(f"emulation, embeddings changed by {PERTURBATION:.0e}", emulated, perturbed, ours_is="emulation")
    return 0 if min(share, emulated_share) >= LEAST_EQUAL else 1


def tell(arithmetic: str, ours: list[str], theirs: list[str], *, ours_is: str = "imported, float32") -> float:
    equal = sum(own.split() == their.split() for own, their in zip(ours, theirs, strict=True))
    row = {
        "ours": ours_is,
        "compared with": arithmetic,
        "sentences": len(ours),
        "equal": equal,
        "share": equal / len(ours),
    }
    print(json.dumps(row), flush=True)
    return equal / len(ours)


# --- the engine's int8 in torch --------------------------------------------------------------------------------------


def emulate_int8(bundle: Bundle, checkpoint: Path) -> None:
    """Replace every matrix product of the model by the engine's."""
    model: Any = bundle.model
    config = cast(TransformerConfig, bundle.config.model)
    scales = read_activation_scales(checkpoint)
    order = pairs_to_halves(config.encoder.width)
    for name in array_names(config):
        if name.theirs not in scales:
            continue
        layer = model.get_submodule(name.ours.removesuffix(".weight"))
        reads_hidden_state = not name.ours.endswith(("attention.output.weight", "fc2.weight"))
        layer.forward = int8_product(
            layer.weight, layer.bias, scales[name.theirs], order if reads_hidden_state else None
        )
    project = int8_product(model.source_embedding.tokens.weight, model.output_bias, scales["Wemb"], order)
    OutputProjection.__call__ = lambda _, hidden: project(hidden)  # type: ignore[method-assign]


def int8_product(
    weight: Tensor, bias: Tensor | None, input_factor: float, order: Tensor | None
) -> Callable[[Tensor], Tensor]:
    """x W as the engine computes it: x is rounded and shifted by 127, and each two products are added in 16 bits.

    Which two entries are added depends on their order, so that of the width is Marian's. Only two large weights can
    exceed 16 bits, so those are added again, cut off, and the difference is added to the exact product. The shift's
    share of each output is scaled and added to the bias first: the difference of two large numbers has their rounding.
    """
    input_factor, weight_factor = (
        np.float32(input_factor),
        np.float32(127) / np.float32(weight.detach().abs().max().item()),
    )
    rows = (weight * float(weight_factor)).round()
    rows = rows if order is None else rows[:, order]
    pairs = rows.unflatten(1, (-1, 2))
    output, pair = (MAX_INPUT * pairs.abs().sum(2) > MAX_INT16).nonzero(as_tuple=True)
    scale = float(1 / (input_factor * weight_factor))
    shift_scale = float((127 / input_factor) * (127 / weight_factor) / 127)
    shifted_bias = -shift_scale * rows.sum(1) + (0.0 if bias is None else bias)

    def product(x: Tensor) -> Tensor:
        x = x if order is None else x[..., order]
        flat = (x * float(input_factor)).round().clamp(-127, 127).reshape(-1, x.shape[-1]) + 127
        sums = (flat.unflatten(1, (-1, 2))[:, pair] * pairs[output, pair]).sum(2)
        outputs = flat @ rows.T
        outputs.index_add_(1, output, sums.clamp(-MAX_INT16 - 1, MAX_INT16) - sums)
        return (outputs * scale + shifted_bias).reshape(*x.shape[:-1], len(rows))

    return product


if __name__ == "__main__":
    sys.exit(main())
