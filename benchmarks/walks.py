"""How many files of src/regard a reader has to open to follow one action from start to end.

    python -m benchmarks.walks                       # this working tree
    python -m benchmarks.walks --before ea3c505      # an older commit beside it
    python -m benchmarks.walks --files               # with the names of the files

Each revision makes its own corpus and small models by its own commands and recipes, in a temporary folder. Then every
walk runs in a process of its own under a profile hook. A file counts if one of its functions is entered, in any thread;
what runs while a module is imported does not count.

    translate    `regard translate`: from the command line to the last line written
    step         one training step, without validation, logging and checkpoints; the command line does not count
    /translate   `POST /translate` through a real server: files of the server, and of what it does with documents
    open         the functions that read a model's files, over every public way to open a model: those on the call stack
                 while a file of the model is read. Config and tokenizers, which are parts of a model, do not count

Options add files: at ea3c505 `translate` enters 44, and 54 with a beam of 5 and --alignments; `/translate` enters 26,
and 31 for HTML in a language to be detected. The plain case is measured, because every reader meets it first.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).parent.parent
TEXT = "AI changes the world"
STEP_FUNCTIONS = ("train_step", "take_step")
SERVER_FOLDERS = ("server/", "serve/", "documents/")
PARTS_OF_A_MODEL = ("config", "problems", "tokens/", "tokenization/")
RECIPES = {  # by what a model does
    "translator": ("world-transformer",),
    "generator": ("world-decoder-only",),
    "filler": ("world-encoder-only",),
    "captioner": ("scenes-attention", "scenes-rnn-attention"),
}
SMALLER = {"steps": 8, "validate_every": 8, "checkpoint_every": 8, "batch_tokens": 200, "warmup": 2, "warmup_steps": 2}
VOCABULARY_KEYS = ("size", "vocab_size")
COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


def main() -> None:
    arguments = parse_arguments()
    if arguments.worker:
        WORKERS[arguments.worker](arguments.source)
        return
    revisions = [arguments.before, arguments.at] if arguments.before else [arguments.at]
    results = {revision or "working tree": walk_at(revision) for revision in revisions}
    if arguments.json:
        print(json.dumps(results, indent=2))
    else:
        print_table(results, with_files=arguments.files)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--at", metavar="REV", help="walk through a git revision instead of the working tree")
    parser.add_argument("--before", metavar="REV", help="walk through this git revision too, and print both")
    parser.add_argument("--files", action="store_true", help="list the files of each walk")
    parser.add_argument("--json", action="store_true", help="print JSON, with the files, instead of a table")
    parser.add_argument("--worker", choices=WORKERS, help=argparse.SUPPRESS)
    parser.add_argument("--source", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def walk_at(revision: str | None) -> dict[str, list[str]]:
    """The files of each walk, by its name."""
    from benchmarks.structure import tree_at

    with tree_at(revision) as tree, tempfile.TemporaryDirectory() as folder:
        make_models(tree, Path(folder))
        return {name: run_worker(name, tree, Path(folder)) for name in WORKERS}


def print_table(results: dict[str, dict[str, list[str]]], *, with_files: bool) -> None:
    print("| files entered |" + "|".join(f" {revision} " for revision in results) + "|")
    print("|---|" + "---|" * len(results))
    for walk in WORKERS:
        print(f"| {walk} |" + "|".join(f" {len(walks[walk])} " for walks in results.values()) + "|")
    for revision, walks in results.items() if with_files else ():
        for walk, files in walks.items():
            print(f"\n{revision}, {walk}:\n  " + "\n  ".join(files))


# ---- what the walks need: a corpus and small models, made by the revision itself ----


def make_models(tree: Path, folder: Path) -> None:
    for kind, names in RECIPES.items():
        recipe = next(path for name in names if (path := tree / "recipes" / f"{name}.toml").exists())
        table = tomllib.loads(recipe.read_text(encoding="utf-8"))
        world = "scenes" if kind == "captioner" else "sentences"
        data = folder / (table["data"]["train"][0] if world == "scenes" else Path(table["data"]["train"][0]).parent)
        if not data.exists():
            sizes = ["--train", "200", "--valid", "20", "--test", "20"]
            # The first word is the new name of the command, the second the name it had before.
            first_that_works(
                [["data", word, world, "--out", str(data), *sizes] for word in ("generate", "world")], tree, folder
            )
        shrink(table)
        small = folder / f"{kind}.toml"
        small.write_text(to_toml(table), encoding="utf-8")
        regard(["train", str(small), "--run", str(folder / kind)], tree, folder)
    model = str(folder / "translator" / "model")
    regard(["export", model, "--to", "ctranslate2", str(folder / "export")], tree, folder)


def shrink(table: dict[str, Any]) -> None:
    """Change a recipe so that it is trained in seconds."""
    table["training"] |= {key: value for key, value in SMALLER.items() if key in table["training"]}
    for section in ("tokens", "tokenizer"):
        for key in VOCABULARY_KEYS:
            if key in table.get(section, {}):
                table[section][key] = min(300, table[section][key])


def to_toml(table: dict[str, Any]) -> str:
    import tomli_w  # regard needs it too; imported here so that the workers import nothing before they measure

    return tomli_w.dumps(table)


def first_that_works(commands: list[list[str]], tree: Path, folder: Path) -> None:
    for command in commands[:-1]:
        with suppress(subprocess.CalledProcessError):
            return regard(command, tree, folder)
    return regard(commands[-1], tree, folder)


def regard(arguments: list[str], tree: Path, folder: Path) -> None:
    command = [sys.executable, "-P", "-m", "regard", *arguments]
    subprocess.run(
        command, cwd=folder, env=environment(tree), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def environment(tree: Path) -> dict[str, str]:
    """The revision's package before any that is installed."""
    path = os.pathsep.join([str(tree / "src"), str(ROOT)])
    return os.environ | {"PYTHONPATH": path, "OMP_WAIT_POLICY": "PASSIVE", "OMP_NUM_THREADS": "2"}


def run_worker(name: str, tree: Path, folder: Path) -> list[str]:
    """The files of one walk; a worker prints them on its last line."""
    command = [sys.executable, "-P", "-m", "benchmarks.walks", "--worker", name, "--source", str(tree / "src/regard")]
    done = subprocess.run(
        command, cwd=folder, env=environment(tree), capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode:
        raise SystemExit(f"the walk {name!r} failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    files: list[str] = json.loads(done.stdout.splitlines()[-1])
    return files


# ---- the hook ----


class EnteredFiles:
    """Files of a package whose functions are entered while `is_on`, in every thread that starts after `watch`."""

    def __init__(self, source: Path) -> None:
        self.source = f"{source}{os.sep}"
        self.files: set[str] = set()
        self.is_on = False
        self.on_call: Callable[[FrameType], None] = lambda _frame: None

    def watch(self) -> None:
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)

    def add_stack(self, frame: FrameType | None) -> None:
        while frame is not None:
            if is_function(frame.f_code) and self.is_ours(frame):
                self.files.add(self.name_of(frame))
            frame = frame.f_back

    def is_ours(self, frame: FrameType) -> bool:
        return frame.f_code.co_filename.startswith(self.source)

    def name_of(self, frame: FrameType) -> str:
        return frame.f_code.co_filename.removeprefix(self.source)

    def _profile(self, frame: FrameType, event: str, _argument: object) -> None:
        if event != "call" or not self.is_ours(frame):
            return
        self.on_call(frame)
        is_new = self.is_on and is_function(frame.f_code) and self.name_of(frame) not in self.files
        if is_new and not is_importing(frame):
            self.files.add(self.name_of(frame))


def is_function(code: CodeType) -> bool:
    """Whether it is the code of a function, and not that of a module, a class or a comprehension."""
    return bool(code.co_flags & CO_OPTIMIZED) and code.co_name not in COMPREHENSIONS


def is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals["__name__"] != "__main__":
            return True
        frame = frame.f_back
    return False


def print_files(files: set[str]) -> None:
    print(f"\n{json.dumps(sorted(files))}", flush=True)


# ---- the walks ----


def walk_translate(source: Path) -> None:
    Path("input.txt").write_text(f"{TEXT}\n", encoding="utf-8")
    entered = EnteredFiles(source)
    main = import_module("regard.cli").main
    entered.watch()
    entered.is_on = True
    run_command(main, ["translate", "translator/model", "--input", "input.txt", "--output", "output.txt"])
    print_files(entered.files)


def run_command(main: Callable[[], None], arguments: list[str]) -> None:
    sys.argv = ["regard", *arguments]
    try:
        main()
    except SystemExit as stop:
        if stop.code:
            raise


def walk_step(source: Path) -> None:
    """From the start of a step to the start of the next; of all steps, one of those that enter the fewest files."""
    entered = EnteredFiles(source)
    steps: list[set[str]] = []

    def on_call(frame: FrameType) -> None:
        if frame.f_code.co_name in STEP_FUNCTIONS:
            steps.append({name for name in entered.files if not name.startswith("cli")})
            entered.files.clear()
            entered.add_stack(frame)
            entered.is_on = True

    entered.on_call = on_call
    entered.watch()
    run_command(import_module("regard.cli").main, ["train", "translator.toml", "--run", "another"])
    sys.setprofile(None)
    print_files(min(steps[2:], key=len))  # steps[0] is before the first step, steps[1] the first step


def walk_server(source: Path) -> None:
    entered = EnteredFiles(source)
    port = free_port()
    threading.Thread(target=request_translation, args=(entered, port), daemon=True).start()
    entered.watch()
    run_command(import_module("regard.cli").main, ["serve", "translator/model", "--port", str(port)])


def request_translation(entered: EnteredFiles, port: int) -> None:
    fields = urllib.parse.urlencode({"q": TEXT, "source": "en", "target": "ko", "format": "text"}).encode()
    address = f"http://127.0.0.1:{port}/translate"
    wait_until_answered(address, fields)
    entered.is_on = True
    urllib.request.urlopen(address, fields).close()
    time.sleep(0.5)  # what is logged and counted after the response belongs to the request
    entered.is_on = False
    print_files({name for name in entered.files if name.startswith(SERVER_FOLDERS)})
    os._exit(0)  # how a server ends is another walk


def wait_until_answered(address: str, fields: bytes) -> None:
    for _ in range(600):
        with suppress(OSError):
            urllib.request.urlopen(address, fields).close()  # noqa: S310  (our own server)
            return
        time.sleep(0.1)
    raise TimeoutError(f"{address} did not answer within a minute")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def walk_open(source: Path) -> None:
    entered = EnteredFiles(source)
    with adding_stack_on_read(entered):
        for open_model in ways_to_open():
            open_model()
    print_files({name for name in entered.files if not name.startswith(PARTS_OF_A_MODEL)})


def ways_to_open() -> list[Callable[[], object]]:
    """Every model by every function that opens it: one function since `regard.load` opens all kinds, ten before."""
    import regard

    models = {kind: Path(kind).absolute() / "model" for kind in RECIPES} | {"export": Path("export").absolute()}
    if not hasattr(regard, "load_captioner"):
        return [partial(regard.load, path) for path in models.values()]
    opening, commands = import_module("regard.inference.open"), import_module("regard.cli.running.models")
    serving, choice = import_module("regard.server.models"), commands.Choice(models["translator"])
    return [
        partial(regard.load, models["translator"]),
        partial(regard.load_captioner, models["captioner"]),
        partial(regard.load_writer, models["generator"]),
        partial(regard.load_reader, models["filler"]),
        partial(regard.load_export, models["export"]),
        partial(opening.open_translator, models["translator"]),
        partial(opening.open_translator, models["export"]),
        partial(commands.load_model, models["translator"]),
        partial(commands.open_model, choice),
        *[partial(serving.loaded_and_warm, path, None) for path in models.values()],
    ]


@contextmanager
def adding_stack_on_read(entered: EnteredFiles) -> Iterator[None]:
    """Add the files on the call stack whenever a file below the current directory, where the models are, is opened."""
    here, is_on = f"{Path.cwd()}{os.sep}", True

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if is_on and event == "open" and str(arguments[0]).startswith(here):
            entered.add_stack(sys._getframe(1))

    sys.addaudithook(hook)  # a hook stays until the process ends
    yield
    is_on = False


WORKERS = {"translate": walk_translate, "step": walk_step, "/translate": walk_server, "open": walk_open}

if __name__ == "__main__":
    main()
