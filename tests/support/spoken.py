"""A server in a process of its own, with a key, over two small models: one trained, one for the opposite direction."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import msgspec

from regard.bundle import load_bundle, new_bundle, save_bundle
from regard.tokenization.tokenizer import TokenizerPair
from tests.support.toy import command, environment, in_a_process, write_corpus

KEY = "a-key-for-tests"


@dataclass(frozen=True)
class Spoken:
    """Where the server is, and the directory of the model that translates from English."""

    url: str
    model: Path

    def http(self, authorization: str | None = None) -> httpx.Client:
        """A client, to be closed; without an authorization it has no key."""
        headers = {} if authorization is None else {"authorization": authorization}
        return httpx.Client(base_url=self.url, timeout=60, headers=headers)


def make_models(directory: Path) -> None:
    """`there` translates en to ko; `back` says anything at all for ko to en."""
    write_corpus(directory)
    ended = in_a_process("train", directory / "transformer.toml", "--run", directory / "there")
    assert ended.code == 0, ended.err
    there = load_bundle(directory / "there" / "model")
    data = msgspec.structs.replace(there.config.data, languages=["ko", "en"])
    config = msgspec.structs.replace(there.config, data=data)
    back = new_bundle(config, TokenizerPair(there.tokenizers.target, there.tokenizers.source))
    save_bundle(directory / "back" / "model", back)


@contextmanager
def serving(directory: Path, *options: str) -> Iterator[Spoken]:
    """Run the server over the models of the directory until the block ends."""
    models = [directory / name / "model" for name in ("there", "back")]
    arguments = command("serve", *models, "--port", 0, "--api-key", KEY, "--limit", "rate=0", *options)
    path = directory / f"server-{os.getpid()}.log"  # other workers have servers over these models too
    with path.open("w+") as log:
        process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=log, env=environment(), text=True)
        try:
            assert process.stdout is not None
            url = process.stdout.readline().removeprefix("regard: ").strip()
            assert url.startswith("http://127.0.0.1:"), path.read_text()
            _wait_until_ready(url)
            yield Spoken(url, models[0])
        finally:
            process.terminate()
            process.communicate(timeout=60)


def _wait_until_ready(url: str) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        targets = [language["targets"] for language in httpx.get(f"{url}languages", timeout=60).json()]
        if targets == [["en", "ko"], ["en", "ko"]] and httpx.get(f"{url}readyz", timeout=60).is_success:
            return
        time.sleep(0.1)
    raise AssertionError("the server did not become ready")
