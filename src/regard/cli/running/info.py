"""Running `regard info`."""

from pathlib import Path
from typing import Any

import msgspec

from regard.bundle import Bundle, load_bundle
from regard.cli.running.models import bytes_on_disk
from regard.cli.running.telling import tell, tell_json, tell_table
from regard.config import to_toml
from regard.manifest import model_directory


def run_info(model: Path, *, as_json: bool) -> None:
    """Tell what a model is; loading it has checked every file."""
    bundle = load_bundle(model_directory(model))
    facts = _facts(model, bundle)
    if as_json:
        tell_json(facts | {"config": msgspec.to_builtins(bundle.config)})
        return
    files = facts.pop("files")
    tell_table(["", str(model_directory(model))], [[name, _shown(value)] for name, value in facts.items()])
    tell_table(["file (SHA-256 as written)", "bytes"], [[name, f"{size:,}"] for name, size in files.items()])
    tell(to_toml(bundle.config).rstrip())


def _facts(model: Path, bundle: Bundle) -> dict[str, Any]:
    both = bundle.tokenizers
    return {
        "kind": str(type(bundle.config.model).__struct_config__.tag),
        "languages": [code for code in bundle.languages if code],
        "tokens": both.source.kind,
        "vocabulary": {"source": both.source.size, "target": both.target.size, "shared": both.shared},
        "parameters": sum(parameter.numel() for parameter in bundle.model.parameters()),
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
