"""A real Chromium and a real server, where a browser is installed; elsewhere tests are skipped, with the reason.

The models are trained by the command itself on a toy language, so translations are right and links are known.
"""

import shutil
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from regard import pretrained
from regard.bundle import load_bundle, new_bundle, save_bundle
from regard.config import Config
from tests.support.captioning_server import make_captioners
from tests.support.commands import run_command
from tests.support.server_process import running_server
from tests.support.shared_results import build_once
from tests.support.small_language import make_language
from tests.support.small_models import randomise
from tests.support.toy_language import write_corpus

NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"]
NODE_MODULES = Path(__file__).parents[2] / "node_modules"
PATIENCE = 60  # seconds that anything may take on a machine with other things to do
SENTENCE = "one red cat runs"
STACK = {"layers": 2, "width": 32, "heads": 2, "ffn_width": 48}
UNTRAINED = {
    "fixed": {"kind": "rnn", "embedding_width": 16, "encoder": {"width": 24}, "decoder": {"width": 24}},
    "general": {"kind": "rnn-attention", "score": "general", "embedding_width": 16, "encoder": {"width": 24}},
    "rotary": {"kind": "transformer", "positions": "rotary", "encoder": STACK, "decoder": STACK},
}


@pytest.fixture(scope="module")  # not longer: while it is open, no other test of this process can run an event loop
def browser() -> Iterator[object]:
    """One browser for the tests of a file; each opens a context of its own."""
    executable = next((path for name in NAMES if (path := shutil.which(name))), None)
    if executable is None:
        pytest.skip(f"no Chromium on the PATH ({', '.join(NAMES)})")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE * 1000)  # a page's own timeout does not hold for it
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The text of axe-core, which looks for what a page keeps from people."""
    path = NODE_MODULES / "axe-core" / "axe.min.js"
    if not path.exists():
        pytest.skip("axe-core is not installed; run: npm install")
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A toy language, the runs of a Transformer and an RNN with attention on it, and a few models nobody trained.

    All workers share it, so no test writes into it.
    """
    return build_once(tmp_path_factory, "corpus", make_corpus)[0]


def make_corpus(directory: Path) -> None:
    """Train and compare the models by the commands of a user."""
    write_corpus(directory)
    for name in ("transformer", "attending"):
        ended = run_command("train", directory / f"{name}.toml", "--run", directory / "runs" / name)
        assert ended.code == 0, ended.err
    trained = load_bundle(directory / "runs" / "transformer" / "model")
    for name, model in UNTRAINED.items():
        table = {
            "model": model,
            "data": {"languages": ["en", "ko"]},
            "decoding": {"max_length_ratio": 1.0, "max_length_extra": 1},
        }
        bundle = new_bundle(Config.from_dict(table, origin=name), trained.tokenizers)
        randomise(bundle.model, seed=5)
        save_bundle(directory / "runs" / name / "model", bundle)
    compared = [directory / "runs" / name / "model" for name in ("transformer", "attending", "fixed", "general")]
    test = ["--source", directory / "test.en", "--reference", directory / "test.ko", "--gold", directory / "test.align"]
    ended = run_command("compare", *compared, *test, "--resamples", "2", "--report", directory / "evaluation.json")
    assert ended.code == 0, ended.err


@pytest.fixture(scope="session")
def server(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of `regard serve` over these models."""
    runs = [corpus / "runs" / name for name in ("transformer", "attending", *UNTRAINED)]
    known = ["--gold", corpus / "test", "--report", corpus / "evaluation.json"]
    yield from serving(tmp_path_factory.mktemp("server") / "log", *runs, *known)


@pytest.fixture(scope="session")
def everything(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with a model for every view."""
    captioners = build_once(tmp_path_factory, "captioners", make_captioners)[0]
    texts = build_once(tmp_path_factory, "language", make_language)[0]
    # A copy: with a model of the package itself, the server would add the package's example sentences.
    classifier = tmp_path_factory.mktemp("classifier") / "world-classifier"
    shutil.copytree(pretrained.directory("world-classifier"), classifier)
    runs = [corpus / "runs" / name for name in ("transformer", "attending", "general")]
    known = ["--gold", corpus / "test", "--report", corpus / "evaluation.json"]
    log = tmp_path_factory.mktemp("everything") / "log"
    others = [captioners / "heads" / "model", texts / "writer", texts / "reader", classifier]
    yield from serving(log, *runs, *others, *known)


def serving(log: Path, *arguments: object, unready: Collection[str] = (), key: str = "") -> Iterator[str]:
    """The address of a running server, for a fixture."""
    with running_server(log, *arguments, unready=unready, key=key) as address:
        yield address


@dataclass
class Watched:
    """A page, all that it complained of, and all that it asked for."""

    page: Any
    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, page: Any) -> "Watched":
        """Watch a page from now on."""
        seen = cls(page)
        page.on("console", lambda result: result.type in ("error", "warning") and seen.problems.append(result.text))
        page.on("pageerror", lambda error: seen.problems.append(str(error)))
        page.on("request", lambda request: seen.requests.append(request.url))
        return seen


Open = Callable[..., Any]


@pytest.fixture
def open_page(browser: Any, server: str) -> Iterator[Open]:
    """Open a view: open_page("inside", locale="ko-KR"). Nothing may be complained of, or asked of others."""
    contexts: list[Any] = []
    watched: list[Watched] = []

    def opened(view: str = "translate", **options: Any) -> Any:
        contexts.append(
            browser.new_context(**{"locale": "en-US", "viewport": {"width": 1200, "height": 900}, **options})
        )
        watched.append(Watched.of(contexts[-1].new_page()))
        watched[-1].page.set_default_timeout(PATIENCE * 1000)
        watched[-1].page.goto(f"{server}#{view}")
        return watched[-1].page

    yield opened
    for context in contexts:
        context.close()
    assert [problem for one in watched for problem in one.problems] == []
    asked = [url for one in watched for url in one.requests]
    assert [url for url in asked if not url.startswith((server, "blob:", "data:"))] == []
