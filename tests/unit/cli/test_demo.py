"""The demo in small: tiny recipes on a few sentences, started, stopped, resumed, and started again when all is done."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import msgspec
import pytest

from regard import pretrained
from regard.cli.demo import RECIPES, Demo, demo_jobs
from tests.support.commands import command, environment, run_command, started

STACK = "{layers = 1, width = 16, heads = 2, ffn_width = 32}"
MODELS = {
    "transformer": f'kind = "transformer"\nencoder = {STACK}\ndecoder = {STACK}',
    "rnn-attention": 'kind = "rnn-attention"\nembedding_width = 16\nencoder = {width = 16}\ndecoder = {width = 16}',
    "rnn": 'kind = "rnn"\nembedding_width = 16\nencoder = {width = 16}\ndecoder = {width = 16}',
}
RECIPE = """
[model]
{model}
[tokenizer]
vocab_size = 200
shared = false
[data]
languages = ["en", "ko"]
[training]
steps = {steps}
threads = 1
batch_tokens = 300
validate_every = {steps}
checkpoint_every = {every}
[decoding]
beam_size = 1
max_length_ratio = 0.1
max_length_extra = 3
"""
SCENES = """
[model]
kind = "captioner-rnn-attention"
embedding_width = 8
decoder = {width = 8}
image_encoder = {kind = "resnet", image_size = 16, width = 4, blocks = 2}
[tokenizer]
model_type = "word"
vocab_size = 100
[data]
languages = ["en"]
[training]
steps = 120
threads = 1
batch_tokens = 100
validate_every = 120
checkpoint_every = 10
[decoding]
beam_size = 1
max_length_extra = 3
"""


@pytest.fixture
def recipes(tmp_path: Path) -> Path:
    folder = tmp_path / "recipes"
    folder.mkdir()
    for name, model in MODELS.items():
        steps, every = (300, 20) if name == "transformer" else (5, 5)  # the first is stopped before its end
        (folder / f"world-{name}.toml").write_text(RECIPE.format(model=model, steps=steps, every=every))
    (folder / "scenes-attention.toml").write_text(SCENES)
    return folder


@pytest.fixture
def running(tmp_path: Path, recipes: Path) -> Iterator["Running"]:
    demo = Running(tmp_path, recipes)
    yield demo
    demo.kill()


class Running:
    """A demo in a process of its own, whose lines can be waited for."""

    def __init__(self, place: Path, recipes: Path) -> None:
        self.directory, self.recipes = place / "demo", recipes
        self.process: subprocess.Popen[str] | None = None
        self.last_output = ""  # of a demo that was ended

    def start(self, *more: str) -> None:
        command = [sys.executable, "-m", "regard", "demo", "--no-browser", "--port=0", "--pairs=300", "--images=60"]
        places = [f"--directory={self.directory}", f"--recipes={self.recipes}"]
        self.process = subprocess.Popen(
            [*command, *places, *more],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"},
        )

    def until(self, pattern: str) -> str:
        """The next line that holds the pattern."""
        assert self.process is not None
        assert self.process.stdout is not None
        seen = []
        for line in self.process.stdout:
            seen.append(line)
            if re.search(pattern, line):
                return line
            if "The page stays open" in line:  # nothing comes after it
                break
        raise AssertionError("".join(seen))

    def kill(self) -> None:
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.communicate(timeout=120)

    def end(self, number: int = signal.SIGINT) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        self.last_output, _ = self.process.communicate(timeout=120)
        return self.process.returncode


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_stopped_demo_resumes_and_finished_demo_starts_directly(running: Running) -> None:
    running.start()
    address = running.until("The page").split()[2].rstrip("/")
    assert httpx.get(address, timeout=60).status_code == 200
    running.until("saved checkpoints")
    assert running.end() == 0
    assert running.last_output.endswith("The demo has stopped. The same command continues from there.\n")
    steps = sorted(path.name for path in (running.directory / "transformer" / "checkpoints").iterdir())
    assert steps

    running.start()
    running.until(f"resuming from step {int(steps[-1].removeprefix('step-'))}")
    running.until("Comparing the three")
    running.until("Drawing the scenes")
    running.until("Training the captioner")
    running.until("saved checkpoints")
    assert running.end() == 0
    quality = msgspec.json.decode((running.directory / "evaluation.json").read_bytes())
    assert [one["model"] for one in quality["models"]] == ["transformer", "rnn-attention", "rnn"]
    assert [one["alignment"] is None for one in quality["models"]] == [False, False, True]
    labels = next(running.directory.glob("transformer/probes/step-*/labels.json"))
    assert msgspec.json.decode(labels.read_bytes())[0]["source"][-1] == "</s>"
    assert "AI changes the world" in (running.directory / "transformer" / "config.toml").read_text()

    running.start("--exit-when-done")
    running.until("captioner --resume")
    running.until("resuming from step")
    running.until("exact match")
    assert running.process is not None
    running.process.communicate(timeout=120)
    assert running.process.returncode == 0
    assert len((running.directory / "captions.txt").read_text().splitlines()) == 1000

    running.start("--probe=Tom sees a cat")
    assert "started before with other probes" in running.until("warning")
    address = running.until("The page").split()[2].rstrip("/")
    running.until("Everything is trained")
    models = wait_for_models(address)
    assert [model["name"] for model in models] == [*pretrained.names(), *RECIPES]
    pictures = httpx.get(f"{address}/api/v1/models/captioner/examples", timeout=60).json()["examples"]
    assert len(pictures) == 12
    assert all(picture["has_boxes"] for picture in pictures)
    answer = httpx.get(f"{address}/api/v1/evaluation", timeout=60).json()
    assert answer["test"]["sentences"] == 1000
    assert running.end(signal.SIGTERM) == 128 + signal.SIGTERM


def wait_for_models(address: str) -> list[dict[str, object]]:
    deadline = time.monotonic() + 120
    while True:
        models: list[dict[str, object]] = httpx.get(f"{address}/api/v1/models", timeout=60).json()["models"]
        if all(model["is_ready"] for model in models) or time.monotonic() > deadline:
            return models
        time.sleep(0.1)


@pytest.mark.slow
def test_run_killed_before_saving_is_started_again(tmp_path: Path, recipes: Path) -> None:
    demo = small_demo(tmp_path, recipes)
    world, training, *_ = demo_jobs(demo)
    assert run_command(*world.arguments).code == 0
    run = demo.directory / "transformer"
    killed = command(*training.arguments, "--set=training.checkpoint_every=40")
    with started(killed, env=environment(), stdout=subprocess.DEVNULL) as process:
        while not (run / "config.toml").exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
    assert not list(run.glob("checkpoints/step-*"))
    ended = run_command(*demo_jobs(demo)[1].arguments)
    assert ended.code == 0, ended.err
    assert "training starts from the beginning" in ended.out
    assert demo_jobs(demo)[1].is_done


def small_demo(place: Path, recipes: Path, *probes: str) -> Demo:
    return Demo(place / "demo", recipes, pairs=300, images=60, probes=probes)


def test_demo_trains_with_probes_and_resume_keeps_options(tmp_path: Path, recipes: Path) -> None:
    own = ["--probe=Tom sees a cat", "--probe=I am sad"]
    for demo, first in (
        (small_demo(tmp_path, recipes), "--probe=AI changes the world"),
        (given(tmp_path, recipes), own[0]),
    ):
        trained = [job.arguments for job in demo_jobs(demo) if job.title.startswith("Training")]
        assert [next((word for word in words if "--probe" in word), "") for words in trained] == [first] * 3 + [""]
    assert [word for word in demo_jobs(given(tmp_path, recipes))[1].arguments if "--probe" in word] == own
    run = tmp_path / "demo" / "transformer"
    run.mkdir(parents=True)
    (run / "config.toml").write_text("")
    assert demo_jobs(given(tmp_path, recipes))[1].arguments == ["train", "--run", str(run), "--resume"]


def given(place: Path, recipes: Path) -> Demo:
    return small_demo(place, recipes, "Tom sees a cat", "I am sad")


@pytest.mark.slow
def test_without_recipes_demo_explains_where_to_run(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "regard", "demo", f"--recipes={tmp_path}", f"--directory={tmp_path / 'demo'}"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert ended.returncode == 2
    assert "world-transformer.toml does not exist" in ended.stderr
    assert not (tmp_path / "demo").exists()
