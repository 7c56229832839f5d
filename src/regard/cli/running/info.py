"""Running `regard info`."""

from pathlib import Path
from typing import Any

import msgspec

from regard.cli.running.models import bytes_on_disk, load_model, model_directory
from regard.cli.running.telling import tell, tell_json, tell_table
from regard.config import to_toml
from regard.translation.translator import Translator


def run_info(model: Path, *, as_json: bool) -> None:
    """Tell what a model is; loading it has checked every file."""
    translator = load_model(model)
    facts = _facts(model, translator)
    if as_json:
        tell_json(facts | {"config": msgspec.to_builtins(translator.bundle.config)})
        return
    files = facts.pop("files")
    tell_table(["", str(model_directory(model))], [[name, _shown(value)] for name, value in facts.items()])
    tell_table(["file (SHA-256 as written)", "bytes"], [[name, f"{size:,}"] for name, size in files.items()])
    tell(to_toml(translator.bundle.config).rstrip())


def _facts(model: Path, translator: Translator) -> dict[str, Any]:
    bundle = translator.bundle
    both = bundle.tokenizers
    return {
        "kind": str(type(bundle.config.model).__struct_config__.tag),
        "languages": [code for code in bundle.languages if code],
        "tokens": both.source.kind,
        "vocabulary": {"source": both.source.size, "target": both.target.size, "shared": both.shared},
        "parameters": translator.parameters,
        "files": bytes_on_disk(model),
    }


def _shown(value: object) -> str:
    match value:
        case list():
            return " → ".join(value) or "not named"
        case {"source": source, "target": target, "shared": shared}:
            return f"{source:,} pieces, shared" if shared else f"{source:,} source, {target:,} target pieces"
        case int():
            return f"{value:,}"
        case _:
            return str(value)
