"""Running `regard demo`: a server that shows the runs, and beside it one job after another that makes them.

Each job is a command that a user could give, and leaves behind that it is done: so a demo that was stopped goes on
where it was, and one that has ended starts at once.
"""

import os
import signal
import socket
import subprocess
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from regard.cli.running.launching import end_with_parent
from regard.cli.running.telling import tell, warn
from regard.data.worlds.readme import is_finished
from regard.errors import RegardError
from regard.training.journal import Ended, Journal

GENERATIONS = ("transformer", "rnn-attention", "rnn")
CAPTIONER = "captioner"
RECIPES = {name: f"world-{name}.toml" for name in GENERATIONS} | {CAPTIONER: "scenes-attention.toml"}
# Threads that wait for each other sleep, as the page and its browser run beside them (docs/decisions/0009).
SLEEPING = {"OMP_WAIT_POLICY": "PASSIVE"}
PROBES = (  # the notes' own sentence first; then longer ones, whose words Korean puts in another order
    "AI changes the world",
    "Anna will read a novel at the library at seven o'clock",
    "The singer who learned Korean laughed because she was happy",
)
PATIENCE = 10.0  # seconds that a process gets to save and leave


@dataclass(frozen=True)
class Demo:
    """What was asked for."""

    directory: Path
    recipes: Path
    pairs: int
    pictures: int
    probes: tuple[str, ...]  # none: the demo's own
    port: int
    browser: bool
    leave: bool

    @property
    def world(self) -> Path:
        return self.directory / "world"

    @property
    def scenes(self) -> Path:
        return self.directory / "scenes"

    def model(self, name: str) -> Path:
        """Where a finished model is."""
        return self.directory / name / "model"

    def recipe(self, name: str) -> Path:
        """What a model is trained by."""
        return self.recipes / RECIPES[name]


@dataclass(frozen=True)
class Job:
    """A command, what to call it, and whether it is done."""

    title: str
    arguments: list[str]
    is_done: bool


def run_demo(demo: Demo) -> int:
    """Serve and train until stopped; Ctrl-C is how a demo ends, so it ends well."""
    missing = [recipe for name in RECIPES if not (recipe := demo.recipe(name)).is_file()]
    if missing:
        raise RegardError(
            f"{missing[0]} is not there. Name a directory that has it with --recipes, or leave that out to take "
            "regard's own."
        )
    demo.directory.mkdir(parents=True, exist_ok=True)
    _tell_of_older_probes(demo)
    with Stopping() as stopping, _server(demo) as server:
        for job in jobs(demo):
            if not job.is_done and not stopping.received and server.poll() is None:
                _do(job, stopping)
        if not stopping.received and not demo.leave and server.poll() is None:
            tell("Everything is trained. The page stays open until Ctrl-C.")
            stopping.wait_for(server)
    return 128 + signal.SIGTERM if signal.SIGTERM in stopping.received else 0


def jobs(demo: Demo) -> list[Job]:
    """All that there is to do, in order: what is wanted first comes first."""
    world = Job(
        "Making the world's sentences",
        ["data", "world", "sentences", "--out", str(demo.world), "--train", str(demo.pairs)],
        is_finished(demo.world),
    )
    probes = [f"--probe={text}" for text in demo.probes or PROBES]
    trained = [_training(demo, name, [*_pairs_of(demo), *probes]) for name in GENERATIONS]
    compared = Job("Comparing the three", _comparing(demo), (demo.directory / "quality.json").exists())
    scenes = Job(
        "Drawing the world's scenes",
        ["data", "world", "scenes", "--out", str(demo.scenes), "--train", str(demo.pictures)],
        is_finished(demo.scenes),
    )
    captioner = _training(demo, CAPTIONER, [_set(kind, [str(demo.scenes), kind]) for kind in ("train", "valid")])
    tried = Job("Trying the captioner", _trying(demo), (demo.directory / "captions.txt").exists())
    return [world, *trained, compared, scenes, captioner, tried]


def _tell_of_older_probes(demo: Demo) -> None:
    """A run's maps are of the same sentences from its beginning to its end, so one that was begun keeps its own."""
    begun = [name for name in GENERATIONS if _config_of(demo.directory / name).exists()]
    if demo.probes and begun:
        warn(
            f"{', '.join(begun)}: begun before, with other probes, which stay. To see yours form from the beginning, "
            "give another --directory."
        )


def _config_of(run: Path) -> Path:
    return run / "config.toml"


def _has_ended(run: Path) -> bool:
    """Whether a run was trained to its end; its model is there earlier, the best one so far."""
    events = Journal(run / "journal.jsonl").read()
    return bool(events) and isinstance(events[-1], Ended)


def _training(demo: Demo, name: str, options: list[str]) -> Job:
    run = demo.directory / name
    arguments = ["train", str(demo.recipe(name)), "--run", str(run), *options]
    if _config_of(run).exists():  # from then on a run is only gone on with, though nothing may be saved yet
        arguments = ["train", "--run", str(run), "--resume"]
    return Job(f"Training the {name}", arguments, _has_ended(run))


def _pairs_of(demo: Demo) -> list[str]:
    return [_set(kind, [str(demo.world / f"{kind}.{side}") for side in ("en", "ko")]) for kind in ("train", "valid")]


def _comparing(demo: Demo) -> list[str]:
    test = ["--source", str(demo.world / "test.en"), "--reference", str(demo.world / "test.ko")]
    test += ["--gold", str(demo.world / "test.align")]
    report = ["--quality", str(demo.directory / "quality.json"), "--plot", str(demo.directory / "quality.svg")]
    return ["compare", *(str(demo.model(name)) for name in GENERATIONS), *test, *report]


def _trying(demo: Demo) -> list[str]:
    test = ["--captions", str(demo.scenes), "--split", "test"]
    return ["evaluate", str(demo.model(CAPTIONER)), *test, "--output", str(demo.directory / "captions.txt")]


def _do(job: Job, stopping: "Stopping") -> None:
    tell(f"\n{job.title}: regard {' '.join(job.arguments)}")
    code = stopping.wait_for(_start(job.arguments))
    if code and not stopping.received:
        raise RegardError(f"{job.title} has failed (exit code {code}); what it said is above. Call again to go on.")


@contextmanager
def _server(demo: Demo) -> Iterator["subprocess.Popen[bytes]"]:
    """The page's server, whose log goes to a file; it is told to leave at the end."""
    log = demo.directory / "server.log"
    shown = [f"--run={demo.directory / name}" for name in RECIPES]
    made = [f"--gold={demo.world / 'test'}", f"--quality={demo.directory / 'quality.json'}"]
    demo.world.mkdir(exist_ok=True)
    with log.open("wb") as file:
        process = _start(["serve", *shown, *made, f"--port={_port(demo.port)}"], stdout=subprocess.PIPE, stderr=file)
    try:
        _welcome(process, log, demo)
        yield process
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _welcome(process: "subprocess.Popen[bytes]", log: Path, demo: Demo) -> None:
    """Wait for the address, and show it."""
    assert process.stdout is not None  # noqa: S101  (for the type checker)
    line = process.stdout.readline().decode().strip()
    if not line:
        raise RegardError(f"the server did not start: {log} says why.")
    address = line.split()[-1]
    tell(f"The page: {address}    (Ctrl-C stops; the same command goes on from there)")
    if demo.browser and _has_screen():
        webbrowser.open(address)


def _start(arguments: list[str], **streams: object) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
        [sys.executable, "-m", "regard", *arguments],
        env=SLEEPING | os.environ,
        process_group=0,  # so that Ctrl-C comes to it once, from us
        preexec_fn=end_with_parent,  # noqa: PLW1509  (this process has no threads)
        **streams,
    )


class Stopping:
    """Ctrl-C and SIGTERM, noted and passed on to the process that is waited for."""

    def __init__(self) -> None:
        self.received: list[int] = []
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def wait_for(self, process: "subprocess.Popen[bytes]") -> int:
        """The exit code of a process, which gets the signals that come meanwhile."""
        self._process = process
        code = process.wait()
        self._process = None
        return code

    def _note(self, number: int, _frame: object) -> None:
        self.received.append(number)
        if self._process is not None:
            self._process.send_signal(number)


def _set(kind: str, paths: list[str]) -> str:
    return f"--set=data.{kind}=[" + ", ".join(f'"{path}"' for path in paths) + "]"


def _port(wanted: int) -> int:
    """The port that is wanted, or any free one where it is taken."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError:
            return 0
    return wanted


def _has_screen() -> bool:
    """Whether a browser would have somewhere to be shown: else one may start in the terminal, over our lines."""
    is_linux = sys.platform.startswith("linux")
    return not is_linux or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
