"""`regard demo`: a server with the models that come with regard, and jobs that train others while you watch.

Each job is a command that a user can run, and its output shows that it is done. So a demo that was stopped continues
with the next job, and a finished one starts at once.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import click

from regard import pretrained
from regard.cli import ChildStopper
from regard.cli.console import echo, warn
from regard.cli.options import PATH
from regard.errors import RegardError
from regard.files import CONFIG_FILE
from regard.process import exit_with_parent
from regard.training.events import EVENT_LOG, EventLog, TrainingEnded
from regard.training.recipes import packaged_recipes
from regard.worlds import is_complete_corpus

GENERATIONS = ("transformer", "rnn-attention", "rnn")
CAPTIONER = "captioner"
RECIPES = {name: f"world-{name}.toml" for name in GENERATIONS} | {CAPTIONER: "scenes-attention.toml"}
# Waiting threads sleep, because the page and its browser run beside them (docs/decisions/0009).
PASSIVE_WAIT = {"OMP_WAIT_POLICY": "PASSIVE"}
PROBES = (  # a short sentence; then longer ones, whose word order differs in Korean
    "AI changes the world",
    "Anna will read a novel at the library at seven o'clock",
    "The singer who learned Korean laughed because she was happy",
)
STOP_TIMEOUT = 10.0  # seconds that a process has to save and exit
READY_TIMEOUT = 30.0  # seconds that the first model has to load before training starts anyway
READY_POLL = 0.2  # seconds
VISITOR_SECONDS = 4.0  # that a visitor has for the first translation, from when the first model is ready
TRAINING_NICENESS = 5  # the page comes first: training takes what the server and the browser leave


@click.command(
    name="demo",
    epilog="""\b
Examples:
  regard demo
  regard demo --probe "Robots must obey orders" --port 0
  regard demo --pairs 2000 --images 2000 --directory runs/small-demo""",
)
@click.option("--directory", type=PATH, default=Path("runs/demo"), show_default=True, help="Directory for all files.")
@click.option("--recipes", type=PATH, help="Directory of other recipes with the same names. [default: regard's own]")
@click.option("--pairs", type=click.IntRange(1), default=60_000, show_default=True, help="Training sentence pairs.")
@click.option("--images", type=click.IntRange(1), default=40_000, show_default=True, help="Training images.")
@click.option(
    "--probe",
    "probes",
    multiple=True,
    metavar="TEXT",
    help="English sentence whose attention is saved while it forms; repeatable. [default: AI changes the world, and 2]",
)
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="Port; 0: any free port.")
@click.option("--browser/--no-browser", default=True, help="Open the page. [default: if there is a display]")
@click.option("--exit-when-done", is_flag=True, help="Stop when everything is trained, instead of serving on.")
def command(
    directory: Path,
    recipes: Path | None,
    pairs: int,
    images: int,
    probes: tuple[str, ...],
    port: int,
    browser: bool,
    exit_when_done: bool,
) -> None:
    """Open the page with the models that come with regard, and train others to watch in its Training view.

    The page works at once. In the background every generation of the lineage is trained on sentences that regard
    generates, the Transformer first; last comes a captioner, on images that regard draws. Ctrl-C stops; the next call
    continues from there.
    """
    demo = Demo(directory, recipes or packaged_recipes(), pairs, images, probes)
    if missing := [recipe for name in RECIPES if not (recipe := demo.recipe(name)).is_file()]:
        raise RegardError(
            f"{missing[0]} does not exist. Give a directory that has it with --recipes, or remove --recipes to use "
            "regard's own."
        )
    _check_probes(probes)
    directory.mkdir(parents=True, exist_ok=True)
    started = [name for name in GENERATIONS if (directory / name / CONFIG_FILE).exists()]
    if probes and started:
        warn(
            f"{', '.join(started)}: started before with other probes, which stay. To probe your sentences from the "
            "start, give another --directory."
        )
    with ChildStopper() as stopper, _running_server(demo, port, stopper, browser=browser) as server:
        for job in demo_jobs(demo):
            if job.is_done or stopper.received or server.poll() is not None:
                continue
            echo(f"\n{job.title}: regard {' '.join(job.arguments)}")
            code = stopper.wait_for(_start_process(job.arguments, niceness=TRAINING_NICENESS))
            if code and not stopper.received:
                raise RegardError(
                    f"{job.title} has failed (exit code {code}); its error is above. Run the same command again to "
                    "continue."
                )
        if not stopper.received and not exit_when_done and server.poll() is None:
            echo("Everything is trained. The page stays open until Ctrl-C.")
            stopper.wait_for(server)
    if stopper.received:
        echo("The demo has stopped. The same command continues from there.")
    # Ctrl-C is the usual end of a demo, so it is a success.
    click.get_current_context().exit(128 + signal.SIGTERM if signal.SIGTERM in stopper.received else 0)


def _check_probes(probes: tuple[str, ...]) -> None:
    if probes:
        from regard.tokenization.text import normalize  # only here: the page should open at once

        if blank := [text for text in probes if not normalize(text)]:  # or not in UTF-8, which is an error, too
            raise RegardError(f"--probe {blank[0]!r} is blank. Give an English sentence.")


@dataclass(frozen=True)
class Demo:
    """The files of a demo, and how much data to generate."""

    directory: Path
    recipes: Path
    pairs: int
    images: int
    probes: tuple[str, ...]  # empty: PROBES

    @property
    def world(self) -> Path:
        return self.directory / "world"

    @property
    def scenes(self) -> Path:
        return self.directory / "scenes"

    def model(self, name: str) -> Path:
        """The directory of a trained model."""
        return self.directory / name / "model"

    def recipe(self, name: str) -> Path:
        """The recipe of a model."""
        return self.recipes / RECIPES[name]


@dataclass(frozen=True)
class DemoJob:
    """A command, its title, and whether it is done."""

    title: str
    arguments: list[str]
    is_done: bool


def demo_jobs(demo: Demo) -> list[DemoJob]:
    """All jobs, in order."""
    world = DemoJob(
        "Generating the sentences",
        ["data", "generate", "sentences", "--out", str(demo.world), "--train", str(demo.pairs)],
        is_complete_corpus(demo.world),
    )
    splits = ("train", "valid")
    data = [_data_option(split, [str(demo.world / f"{split}.{side}") for side in ("en", "ko")]) for split in splits]
    probes = [f"--probe={text}" for text in demo.probes or PROBES]
    trained = [_train_job(demo, name, [*data, *probes]) for name in GENERATIONS]
    test = [f"--source={demo.world / 'test.en'}", f"--reference={demo.world / 'test.ko'}"]
    report = demo.directory / "evaluation.json"
    compare = ["compare", *(str(demo.model(name)) for name in GENERATIONS), *test]
    compare += [f"--gold={demo.world / 'test.align'}", f"--report={report}"]
    compared = DemoJob("Comparing the three models", compare, report.exists())
    scenes = DemoJob(
        "Drawing the scenes",
        ["data", "generate", "scenes", "--out", str(demo.scenes), "--train", str(demo.images)],
        is_complete_corpus(demo.scenes),
    )
    captioner = _train_job(demo, CAPTIONER, [_data_option(split, [str(demo.scenes), split]) for split in splits])
    captions = demo.directory / "captions.txt"
    evaluate = ["evaluate", str(demo.model(CAPTIONER)), f"--captions={demo.scenes}", "--split=test"]
    tried = DemoJob("Evaluating the captioner", [*evaluate, f"--output={captions}"], captions.exists())
    return [world, *trained, compared, scenes, captioner, tried]


def _train_job(demo: Demo, name: str, options: list[str]) -> DemoJob:
    run = demo.directory / name
    if (run / CONFIG_FILE).exists():  # a run that has a config can only be resumed
        arguments = ["train", "--run", str(run), "--resume"]
    else:
        arguments = ["train", str(demo.recipe(name)), "--run", str(run), *options]
    events = EventLog(run / EVENT_LOG).read()  # a model exists before the end: the best one so far
    return DemoJob(f"Training the {name}", arguments, bool(events) and isinstance(events[-1], TrainingEnded))


def _data_option(split: str, paths: list[str]) -> str:
    return f"--set=data.{split}=[" + ", ".join(f'"{path}"' for path in paths) + "]"


@contextmanager
def _running_server(
    demo: Demo, port: int, stopper: ChildStopper, *, browser: bool
) -> Iterator[subprocess.Popen[bytes]]:
    """The server of the page, which logs to a file; it is stopped at the end."""
    log = demo.directory / "server.log"
    runs = [*pretrained.names(), *(f"--run={demo.directory / name}" for name in RECIPES)]
    results = [f"--gold={demo.world / 'test'}", f"--report={demo.directory / 'evaluation.json'}"]
    demo.world.mkdir(exist_ok=True)
    with log.open("wb") as file:
        process = _start_process(
            ["serve", *runs, *results, f"--port={_free_port(port)}"], stdout=subprocess.PIPE, stderr=file
        )
    try:
        assert process.stdout is not None  # noqa: S101  (for the type checker)
        line = process.stdout.readline().decode().strip()
        if not line:
            raise RegardError(f"the server did not start. See {log}.")
        address = line.split()[-1]
        echo(f"The page: {address}    (Ctrl-C stops; the same command continues from there)")
        if browser and _has_display():
            webbrowser.open(address)
        _wait_for_visitor(address, process, stopper)
        yield process
    finally:
        process.terminate()
        process.wait(STOP_TIMEOUT)


def _wait_for_visitor(address: str, server: subprocess.Popen[bytes], stopper: ChildStopper) -> None:
    """Let the first model load, and a visitor try it, before any training, which takes one of two cores."""
    from urllib.request import urlopen  # only here, while the server starts

    deadline, is_ready = time.monotonic() + READY_TIMEOUT, False
    while not stopper.received and server.poll() is None and time.monotonic() < deadline:
        if not is_ready:
            with suppress(OSError), urlopen(f"{address}readyz", timeout=READY_TIMEOUT):  # noqa: S310
                deadline, is_ready = time.monotonic() + VISITOR_SECONDS, True
        time.sleep(READY_POLL)


def _start_process(arguments: list[str], *, niceness: int = 0, **streams: object) -> subprocess.Popen[bytes]:
    def prepare_child() -> None:
        exit_with_parent()
        os.nice(niceness)

    return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
        [sys.executable, "-m", "regard", *arguments],
        env=PASSIVE_WAIT | os.environ,
        process_group=0,  # so that Ctrl-C reaches it once, through us
        preexec_fn=prepare_child,  # noqa: PLW1509  (this process has no threads)
        **streams,
    )


def _free_port(wanted: int) -> int:
    """The wanted port, or 0, for any free one, if it is taken."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError:
            return 0
    return wanted


def _has_display() -> bool:
    """Whether there is a display for a browser: without one a browser may start in the terminal, over our lines."""
    is_linux = sys.platform.startswith("linux")
    return not is_linux or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
