"""`regard info`: what a model is, or which models come with regard."""

from pathlib import Path

import click
import msgspec

from regard import pretrained
from regard.cli.console import echo, print_json, print_table
from regard.cli.options import PATH, json_option
from regard.files import MANIFEST_NAME, MODEL, MODEL_VERSION, find_model_directory, read_manifest


@click.command(
    name="info",
    epilog="""\b
Examples:
  regard info
  regard info en-fr
  regard info runs/x/model --json""",
)
@click.argument("model", type=PATH, required=False)
@json_option
def command(model: Path | None, as_json: bool) -> None:
    """Show MODEL's languages, vocabularies, size and config; every file is checked against its SHA-256.

    Of a model that comes with regard, such as en-fr, also its figures, licence and attribution. Without MODEL: the
    list of those models.
    """
    if model is None:
        _list_pretrained(as_json)
        return

    from regard.bundle import load_bundle
    from regard.data.labelled_examples import list_labels

    directory = find_model_directory(model)
    bundle = load_bundle(directory)
    names = sorted([*read_manifest(directory, MODEL, MODEL_VERSION).files, MANIFEST_NAME])
    files = {name: (directory / name).stat().st_size for name in names}
    both, languages = bundle.tokenizers, [code for code in bundle.languages if code]
    source, target = both.source.vocab_size, both.target.vocab_size
    facts = {
        "kind": str(type(bundle.config.model).__struct_config__.tag),
        "languages": languages,
        "tokenizer": both.source.model_type,
        "vocabulary": {"source": source, "target": target, "shared": both.shared},
        "parameters": bundle.num_parameters,
    }
    labels = bundle.config.data.labels
    facts |= {"classes": labels} if labels else {}
    card = pretrained.read_card(directory) if (directory / pretrained.CARD_FILE).is_file() else None
    if as_json:
        facts |= {"card": msgspec.to_builtins(card), "files": files, "config": msgspec.to_builtins(bundle.config)}
        print_json(facts)
        return
    shown = {
        "languages": " → ".join(languages) or "not named",
        "vocabulary": f"{source:,} pieces, shared" if both.shared else f"{source:,} source, {target:,} target pieces",
        "parameters": f"{bundle.num_parameters:,}",
        "classes": f"{len(labels)}: {list_labels(labels)}",
    }
    print_table(["", str(directory)], [[name, str(shown.get(name, value))] for name, value in facts.items()])
    if card is not None:
        about = msgspec.to_builtins(card) | {"figures": _format_figures(card)}
        print_table(["", card.summary], [[name, text] for name, text in about.items() if name != "summary"])
    print_table(["file (SHA-256 verified)", "bytes"], [[name, f"{size:,}"] for name, size in files.items()])
    echo(bundle.config.to_toml().rstrip())


def _list_pretrained(as_json: bool) -> None:
    cards = {name: pretrained.card(name) for name in pretrained.names()}
    if as_json:
        print_json({name: msgspec.to_builtins(card) for name, card in cards.items()})
        return
    rows = [[name, card.summary, _format_figures(card)] for name, card in cards.items()]
    print_table(["model", "what it does", "figures"], rows, text_columns=3)
    echo("`regard info NAME` has the test set, the licence and the config of each.")


def _format_figures(card: pretrained.ModelCard) -> str:
    return ", ".join(f"{name} {value:.1f}" for name, value in card.figures.items())
