"""A Firefox model, imported, against Firefox's own engine: how many sentences have the same tokens.

    python -m tests.support.published_weights
    npm install --prefix benchmarks/bergamot_node --no-package-lock
    .venv/bin/python -m benchmarks.bergamot --source val.en --lines 500

It prints one line for each arithmetic of the engine (Bergamot's wasm in Node): float32, on the weights that
`regard export --to marian` wrote; and the published int8, without and with the shortlist. The exit code is 1 if fewer
than 97 % of the sentences are equal in float32, the arithmetic of both programs. `--emulate LINES` repeats the first
lines in torch with parts of the engine's int8 arithmetic: inputs of layers are rounded to int8, and sums of two
products are cut off at 16 bits. More sentences are equal then, not all.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from torch import Tensor

from regard.bundle import Bundle
from regard.config import TransformerConfig
from regard.inference.translator import Translator
from regard.interop.marian import pairs_to_halves
from regard.interop.marian_files import read_activation_scales
from regard.interop.marian_native import array_names, export_marian, find_checkpoint, import_marian_native
from regard.layers.embedding import OutputProjection
from tests.support.bergamot import INSTALL, is_installed, translate_with_bergamot

LEAST_EQUAL = 0.97
MAX_INPUT, MAX_INT16 = 254, 2**15 - 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, default=Path("build/weights/firefox-en-pt"))
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--lines", type=int, default=500)
    parser.add_argument("--emulate", type=int, default=0, metavar="LINES")
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
    tell("int8, the whole vocabulary", ours, published)
    limited = translate_with_bergamot(given.model, texts, precision="int8shiftAlphaAll", shortlist=shortlist).texts
    tell("int8, the shortlist", ours, limited)
    with TemporaryDirectory() as folder:
        export_marian(bundle, Path(folder) / "marian")
        exact = translate_with_bergamot(Path(folder) / "marian", texts, precision="float32").texts
    share = tell("float32", ours, exact)
    if given.emulate:
        emulate_int8(bundle, checkpoint)
        emulated = [output.text for output in Translator(bundle).translate(texts[: given.emulate], beam_size=1)]
        tell("int8, emulated in torch", emulated, published[: given.emulate])
    return 0 if share >= LEAST_EQUAL else 1


def tell(arithmetic: str, ours: list[str], theirs: list[str]) -> float:
    equal = sum(own.split() == their.split() for own, their in zip(ours, theirs, strict=True))
    row = {"bergamot": arithmetic, "sentences": len(ours), "equal": equal, "share": equal / len(ours)}
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
    project = int8_product(model.source_embedding.tokens.weight, model.output_bias, scales["none"], order)
    OutputProjection.__call__ = lambda _, hidden: project(hidden)  # type: ignore[method-assign]


def int8_product(
    weight: Tensor, bias: Tensor | None, input_scale: float, order: Tensor | None
) -> Callable[[Tensor], Tensor]:
    """x W as the engine computes it: x is rounded and shifted by 127, and each two products are added in 16 bits.

    Which two entries are added depends on their order, so that of the width is Marian's. Only two large weights can
    exceed 16 bits, so those are added again, cut off, and the difference is added to the exact product.
    """
    weight_scale = 127 / weight.abs().max()
    rows = (weight * weight_scale).round()
    rows = rows if order is None else rows[:, order]
    pairs = rows.unflatten(1, (-1, 2))
    output, pair = (MAX_INPUT * pairs.abs().sum(2) > MAX_INT16).nonzero(as_tuple=True)

    def product(x: Tensor) -> Tensor:
        x = x if order is None else x[..., order]
        flat = (x * input_scale).round().clamp(-127, 127).reshape(-1, x.shape[-1]) + 127
        sums = (flat.unflatten(1, (-1, 2))[:, pair] * pairs[output, pair]).sum(2)
        outputs = flat @ rows.T
        outputs.index_add_(1, output, sums.clamp(-MAX_INT16 - 1, MAX_INT16) - sums)
        outputs = (outputs - 127 * rows.sum(1)) / (input_scale * weight_scale)
        return (outputs if bias is None else outputs + bias).reshape(*x.shape[:-1], len(rows))

    return product


if __name__ == "__main__":
    sys.exit(main())
