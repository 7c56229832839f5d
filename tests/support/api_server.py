"""A server with an API key over two small models: one trained, and an untrained one for the opposite direction."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import msgspec

from regard.bundle import load_bundle, new_bundle, save_bundle
from regard.tokenization.tokenizer import TokenizerPair
from tests.support.commands import run_command
from tests.support.server_process import running_server
from tests.support.toy_language import write_corpus

KEY = "a-key-for-tests"


@dataclass(frozen=True)
class ApiServer:
    """The address of the server, and the directory of the model that translates from English."""

    url: str
    model: Path

    def http(self, authorization: str | None = None) -> httpx.Client:
        """A client that the caller closes; without an authorization it has no key."""
        headers = {} if authorization is None else {"authorization": authorization}
        return httpx.Client(base_url=self.url, timeout=60, headers=headers)


def make_models(directory: Path) -> None:
    """`there` translates en to ko; `back` is an untrained model from ko to en."""
    write_corpus(directory)
    ended = run_command("train", directory / "transformer.toml", "--run", directory / "there")
    assert ended.code == 0, ended.err
    there = load_bundle(directory / "there" / "model")
    data = msgspec.structs.replace(there.config.data, languages=["ko", "en"])
    config = msgspec.structs.replace(there.config, data=data)
    back = new_bundle(config, TokenizerPair(there.tokenizers.target, there.tokenizers.source))
    save_bundle(directory / "back" / "model", back)


@contextmanager
def api_server(directory: Path, *options: str) -> Iterator[ApiServer]:
    """Run the server over the models of the directory until the block ends."""
    models = [directory / name / "model" for name in ("there", "back")]
    log = directory / f"server-{os.getpid()}.log"  # other workers have servers over these models too
    with running_server(log, *models, *options, key=KEY) as url:
        yield ApiServer(url, models[0])
