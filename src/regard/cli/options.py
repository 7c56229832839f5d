"""Options that several commands share, so that they mean the same and read the same everywhere."""

from pathlib import Path

import click

PATH = click.Path(path_type=Path)
STANDARD_OUTPUT = Path("-")


def unless_standard_output(_context: click.Context, _option: click.Parameter, path: Path | None) -> Path | None:
    """The file to write; none for `-`, which is standard output, the default."""
    return None if path == STANDARD_OUTPUT else path


def refuse_unfit(options: dict[str, object], whose: str, given: str) -> None:
    """Refuse the options of other models than those that `given` is for."""
    unfit = [f"--{name.replace('_', '-')}" for name, value in options.items() if value]
    if unfit:
        raise click.UsageError(f"{', '.join(unfit)} is for {whose}; leave it away with {given}.")


model_argument = click.argument("model", type=PATH)
beam_option = click.option(
    "--beam", type=click.IntRange(1, 1024), help="Hypotheses kept; 1 is greedy. [default: the model's]"
)
json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON, to be read by programs.")
source_option = click.option("--source", type=PATH, help="Source sentences, one a line (.gz too).")
reference_option = click.option("--reference", type=PATH, help="Their translations by people, line by line.")
captions_option = click.option(
    "--captions", type=PATH, help="For captioners: a file of captions, or a folder with a captions.txt."
)
split_option = click.option("--split", metavar="NAME", help="The pictures of this split alone, such as test.")
tokenize_option = click.option(
    "--tokenize",
    metavar="NAME",
    help="How BLEU cuts words: 13a, intl, zh, ja-mecab, ko-mecab, char or none. [default: by the target language, or "
    "the reference's script]",
)
lowercase_option = click.option("--lowercase", is_flag=True, help="Score without regard to upper and lower case.")
resamples_option = click.option(
    "--resamples", type=click.IntRange(1), default=1000, show_default=True, help="Draws for the confidence intervals."
)
plot_option = click.option("--plot", type=PATH, metavar="FILE.svg", help="Draw quality against sentence length.")
gold_base_option = click.option(
    "--gold-base",
    type=click.IntRange(0, 1),
    default=0,
    show_default=True,
    help="The number of a gold line's first word.",
)
engine_option = click.option(
    "--engine",
    type=click.Choice(["torch", "ctranslate2", "auto"]),
    help="Who decodes: ctranslate2 is faster, and says the same in float32; auto is the fastest this model can have, "
    "in int8, which says nearly the same. [default: torch]",
)
quantization_option = click.option(
    "--quantization",
    type=click.Choice(["int8", "int8_float32", "int16", "float16", "float32"]),
    help="Numbers that ctranslate2 computes with; naming them chooses that engine. [default: float32; with auto, int8]",
)
