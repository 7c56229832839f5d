"""Small captioners that nobody trained, a set of pictures that knows what one of them says, and a server over them.

The gold caption of the first picture is what the model says of it, and its boxes are made so that the first word's
attention hits and the second's misses; so what the server and the page make of gold is known.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from PIL import Image

from regard.bundle import new_bundle, save_bundle
from regard.config import Config, TokenizerConfig
from regard.inference.captioner import Captioner
from regard.tokenization.tokenizer import TokenizerPair, train_tokenizer_pair
from regard.tracing.image_maps import word_image_maps
from regard.worlds.scenes import caption_text, draw_scene, random_scenes, scene_caption
from tests.support.server_process import running_server
from tests.support.small_models import randomise

SIZE, SIDE = 32, 8
EYE = {"kind": "resnet", "image_size": SIZE, "width": 8, "blocks": 2}
MODELS: dict[str, dict[str, Any]] = {
    "heads": {"kind": "captioner-transformer", "decoder": {"layers": 2, "width": 24, "heads": 3, "ffn_width": 32}},
    "looking": {"kind": "captioner-rnn-attention", "embedding_width": 16, "decoder": {"width": 24}},
    "blind": {"kind": "captioner-rnn", "embedding_width": 16, "decoder": {"width": 24}},
}
HIT, MISS = [0.0, 0.0, 1.0, 1.0], [0.001, 0.001, 0.002, 0.002]


@dataclass(frozen=True)
class Gallery:
    """Where the server is, and where its pictures and models are."""

    url: str
    folder: Path

    def picture(self, number: int) -> Path:
        return self.folder / "images" / "valid" / f"{number}.png"


def make_gallery(folder: Path) -> None:
    """Pictures, models, captions and boxes."""
    drawn = list(islice(random_scenes(0), 40))
    (folder / "images" / "valid").mkdir(parents=True)
    for number, scene in enumerate(drawn[:3]):
        Image.fromarray(draw_scene(scene, SIZE).transpose(1, 2, 0)).save(folder / "images" / "valid" / f"{number}.png")
    lines = [caption_text(scene_caption(scene)) for scene in drawn]
    tokenizers = train_tokenizer_pair(TokenizerConfig(model_type="word", vocab_size=120), lines, lines)
    for name, model in MODELS.items():
        save_bundle(folder / name / "model", _bundle(folder, model, tokenizers).bundle)
    _write_gold(folder, _bundle(folder, MODELS["heads"], tokenizers), lines)


def _bundle(folder: Path, model: dict[str, Any], tokenizers: TokenizerPair) -> Captioner:
    table = {
        "model": model | {"image_encoder": EYE},
        "data": {"valid": [str(folder), "valid"], "languages": ["en"]},
        "decoding": {"beam_size": 2, "max_length_ratio": 0.0, "max_length_extra": 6},
    }
    config: Config = Config.from_dict(table)
    captioner = Captioner(new_bundle(config, tokenizers))
    captioner.bundle.model.eval()
    for seed in range(1, 50):
        randomise(captioner.bundle.model, seed=seed)
        if captioner.caption([folder / "images" / "valid" / "0.png"])[0].text:  # it is to say something, whatever it is
            return captioner
    raise AssertionError("no seed made a model that speaks")


def _write_gold(folder: Path, captioner: Captioner, lines: list[str]) -> None:
    said = captioner.caption([folder / "images" / "valid" / "0.png"])[0]
    words = said.text.split()
    maps = word_image_maps(captioner.trace(folder / "images" / "valid" / "0.png", said.tokens), layer=1)
    assert len(maps) == len(words) >= 2
    assert int(np.argmax(maps[1][1])) != 0, "the second word must not look at the first cell"
    captions = [said.text, lines[1], lines[2]]
    (folder / "captions.txt").write_text("".join(f"valid/{n}.png\t{line}\n" for n, line in enumerate(captions)))
    (folder / "valid.txt").write_text("".join(f"valid/{n}.png\n" for n in range(3)))
    boxes = [[HIT], [MISS], *([] for _ in words[2:])]
    gold = {"image": "valid/0.png", "words": words, "boxes": boxes}
    (folder / "boxes.jsonl").write_bytes(msgspec.json.encode(gold) + b"\n")


@contextmanager
def showing(folder: Path) -> Iterator[Gallery]:
    """Run the server over the captioners until the block ends."""
    models = [folder / name / "model" for name in MODELS]
    log = folder / f"server-{os.getpid()}.log"  # other workers have servers over these models too
    with running_server(log, *models) as url:
        yield Gallery(url, folder)
