"""Every public method of the client libraries of DeepL and LibreTranslate, called against a running server.

    .venv/bin/python -m benchmarks.client_coverage MODEL            # a model from English to Korean
    .venv/bin/python -m benchmarks.client_coverage MODEL --list     # with the outcome of each method

A method works if it returns, and is refused clearly if the library raises its own error with the message of the server.
Anything else counts as wrong, and the exit code is 1. The methods and their parameters come from the libraries
themselves; `ARGUMENTS` has a value for each parameter by its name.
"""

import argparse
import functools
import inspect
import io
import json
import subprocess
import sys
import tempfile
import urllib.error
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import deepl
from benchmarks.http_load import serving
from deepl.api_data import MultilingualGlossaryDictionaryEntries
from libretranslatepy import LibreTranslateAPI

KEY, TEXT = "a-key", "one red cat"
TOOLS = Path(__file__).parents[1] / "tests" / "server" / "tools"
CLEAR = (
    "not supported",
    "does not support",
    "disabled on this server",
    "no such file",
    "not exist",
    "HTTP status: 404",
)
OPTIONS: dict[str, Any] = {  # of translate_text, each by itself
    "source_lang": "EN",
    "context": "a farm",
    "split_sentences": "0",
    "preserve_formatting": True,
    "formality": "more",
    "glossary": "an-id",
    "glossary_ids": ["an-id"],
    "tag_handling": "xml",
    "tag_handling_version": "v2",
    "outline_detection": False,
    "non_splitting_tags": ["b"],
    "splitting_tags": ["p"],
    "ignore_tags": ["code"],
    "model_type": "latency_optimized",
    "style_rule": "an-id",
    "translation_memory": "an-id",
    "translation_memory_threshold": 80,
    "custom_instructions": ["Be brief."],
    "extra_body_parameters": {"debug": "1"},
}
NEEDED = {
    "glossary": ["source_lang"],
    "glossary_ids": ["source_lang"],
    "translation_memory_threshold": ["translation_memory"],
}
Outcome = str  # works, refused, or the reason why it is wrong


def python_arguments(directory: Path, url: str) -> dict[str, Any]:
    """A value for each parameter of the Python clients."""
    document = directory / "a.txt"
    document.write_text(TEXT)
    entries = {"one": "하나"}
    dictionary = MultilingualGlossaryDictionaryEntries("EN", "KO", entries)
    glossary = deepl.GlossaryInfo("an-id", "a name", True, "EN", "KO", None, 1)  # type: ignore[arg-type]
    return {
        "text": TEXT,
        "q": TEXT,
        "source": "en",
        "target": "ko",
        "source_lang": "EN",
        "target_lang": "KO",
        "name": "a name",
        "language": "KO",
        "label": "a label",
        "prompt": "a prompt",
        "entries": entries,
        "csv_data": "one,하나",
        "glossary": "an-id",
        "glossary_id": "an-id",
        "glossary_dict": dictionary,
        "glossary_dicts": [dictionary],
        "glossary_info": glossary,
        "style_rule": "an-id",
        "instruction_id": "an-id",
        "configured_rules": {},
        "translation_memory": "an-id",
        "translation_memory_import": f"{url}/v3/translation_memories/import/an-id",
        "job": "an-id",
        "finished_job": SimpleNamespace(result=SimpleNamespace(download_url=f"{url}/v3/translation_memories/an-id")),
        "file_name": "a.tmx",
        "content_length": 3,
        "input_file": b"abc",
        "input_document": document.read_bytes(),
        "output_document": io.BytesIO(),
        "filename": "a.txt",
        "input_path": document,
        "output_path": directory / "out.txt",
        "app_info_name": "coverage",
        "app_info_version": "1",
    }


ALWAYS_GIVEN = ("source", "target", "source_lang", "target_lang", "filename")  # also where they have a default
SPECIAL = {  # parameters of one method that have another type than elsewhere
    ("translate_text_with_glossary", "glossary"): "glossary_info",
    ("download_translation_memory_export", "job"): "finished_job",
}


def public_methods(client: object) -> list[str]:
    """The names of the methods that users call."""
    return [name for name in dir(client) if not name.startswith("_") and callable(getattr(client, name))]


def outcome_of(call: Callable[[], object]) -> Outcome:
    """Whether the call returns, or how it is refused."""
    try:
        call()
    except deepl.DeepLException as error:
        return "refused" if is_clear(str(error)) else f"wrong: {error}"
    except urllib.error.HTTPError as error:
        return "refused" if is_clear(error.read().decode()) else f"wrong: {error}"
    except Exception as error:
        return f"wrong: {type(error).__name__}: {error}"
    return "works"


def is_clear(message: str) -> bool:
    """Whether the message says that this server does not have it."""
    return any(part in message for part in CLEAR)


def cover_python(url: str, key: str, directory: Path) -> dict[str, dict[str, Outcome]]:
    """The outcome of each method of the Python clients, and of each option of translate_text."""
    values, translator = python_arguments(directory, url), deepl.DeepLClient(key, server_url=url)
    values["handle"] = translator.translate_document_upload(TEXT, target_lang="KO", filename="a.txt")
    translator.translate_document_wait_until_done(values["handle"])
    clients = {"deepl": translator, "libretranslatepy": LibreTranslateAPI(url, api_key=key)}
    outcomes: dict[str, dict[str, Outcome]] = {}
    for library, client in clients.items():
        outcomes[library] = {}
        for name in public_methods(client):
            parameters = inspect.signature(getattr(client, name)).parameters.values()
            required = [one.name for one in parameters if one.default is one.empty and one.kind is not one.VAR_KEYWORD]
            wanted = [one.name for one in parameters if one.name in required or one.name in ALWAYS_GIVEN]
            given = {one: values[SPECIAL.get((name, one), one)] for one in wanted}
            outcomes[library][name] = outcome_of(functools.partial(getattr(client, name), **given))
    outcomes["options of deepl's translate_text"] = {
        name: outcome_of(
            functools.partial(
                translator.translate_text,
                TEXT,
                target_lang="KO",
                **{one: OPTIONS[one] for one in [name, *NEEDED.get(name, [])]},
            )
        )
        for name in inspect.signature(translator.translate_text).parameters
        if name not in ("text", "target_lang")
    }
    return outcomes


def cover_node(url: str, key: str, directory: Path) -> dict[str, dict[str, Outcome]]:
    """The same of the npm clients."""
    files = [str(directory / "a.txt"), str(directory / "node-out.txt")]
    ended = subprocess.run(
        ["node", str(TOOLS / "coverage.mjs"), f"{url}/", key, TEXT, *files], capture_output=True, text=True, check=True
    )
    calls: dict[str, dict[str, dict[str, str]]] = json.loads(ended.stdout)

    def outcome(found: dict[str, str]) -> Outcome:
        reason = found.get("refused")
        return "works" if reason is None else "refused" if is_clear(reason) else f"wrong: {reason}"

    return {library: {name: outcome(found) for name, found in own.items()} for library, own in calls.items()}


def main() -> None:
    """Print the table; exit with 1 if a method is neither works nor refused."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--list", action="store_true", help="list the methods of each outcome")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        options = ("--api-key", KEY, "--limit", "rate=0")
        with serving([arguments.model], directory / "log", *options) as server:
            outcomes = cover_python(server.url, KEY, directory) | cover_node(server.url, KEY, directory)
    print("| client | methods | work | are refused clearly | wrong |\n|---|---|---|---|---|")
    for library, own in outcomes.items():
        print(table_row(library, own))
    wrong = [
        f"{library}.{name}: {one}" for library, own in outcomes.items() for name, one in own.items() if "wrong" in one
    ]
    for library, own in outcomes.items() if arguments.list else ():
        for kind in ("works", "refused"):
            print(f"\n{library}, {kind}: {', '.join(name for name, one in own.items() if one == kind)}")
    print("\n".join(["", *wrong]) if wrong else "", file=sys.stderr)
    sys.exit(1 if wrong else 0)


def table_row(library: str, outcomes: dict[str, Outcome]) -> str:
    """The row of a library in docs/serving.md."""
    works, refused = (sum(one == kind for one in outcomes.values()) for kind in ("works", "refused"))
    name = f"{library} {library_version(library)}".strip()
    return f"| {name} | {len(outcomes)} | {works} | {refused} | {len(outcomes) - works - refused} |"


def library_version(name: str) -> str:
    """The installed version of a library, or nothing for a row that is not a library."""
    package = TOOLS / "node_modules" / name / "package.json"
    if package.exists():
        return str(json.loads(package.read_text())["version"])
    return version(name) if " " not in name else ""


if __name__ == "__main__":
    main()
