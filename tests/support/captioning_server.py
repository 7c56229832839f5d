"""Small untrained captioners, a few images with gold captions, and a server over them.

The gold caption of the first image is the caption that the first model generates. Its boxes are chosen so that the
attention of the first word hits and that of the second misses.
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
IMAGE_ENCODER = {"kind": "resnet", "image_size": SIZE, "width": 8, "blocks": 2}
MODELS: dict[str, dict[str, Any]] = {
    "heads": {"kind": "captioner-transformer", "decoder": {"layers": 2, "width": 24, "heads": 3, "ffn_width": 32}},
    "attention": {"kind": "captioner-rnn-attention", "embedding_width": 16, "decoder": {"width": 24}},
    "fixed": {"kind": "captioner-rnn", "embedding_width": 16, "decoder": {"width": 24}},
}
HIT, MISS = [0.0, 0.0, 1.0, 1.0], [0.001, 0.001, 0.002, 0.002]


@dataclass(frozen=True)
class CaptioningServer:
    """The address of the server, and the folder of its images and models."""

    url: str
    folder: Path

    def image(self, number: int) -> Path:
        return self.folder / "images" / "valid" / f"{number}.png"


def make_captioners(folder: Path) -> None:
    """Images, models, captions and boxes."""
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
        "model": model | {"image_encoder": IMAGE_ENCODER},
        "data": {"valid": [str(folder), "valid"], "languages": ["en"]},
        "decoding": {"beam_size": 2, "max_length_ratio": 0.0, "max_length_extra": 6},
    }
    config: Config = Config.from_dict(table)
    captioner = Captioner(new_bundle(config, tokenizers))
    captioner.bundle.model.eval()
    for seed in range(1, 50):
        randomise(captioner.bundle.model, seed=seed)
        if captioner.caption([folder / "images" / "valid" / "0.png"])[0].text:  # an empty caption tests nothing
            return captioner
    raise AssertionError("every seed gives an empty caption")


def _write_gold(folder: Path, captioner: Captioner, lines: list[str]) -> None:
    caption = captioner.caption([folder / "images" / "valid" / "0.png"])[0]
    words = caption.text.split()
    maps = word_image_maps(captioner.trace(folder / "images" / "valid" / "0.png", caption.tokens), layer=1)
    assert len(maps) == len(words) >= 2
    assert int(np.argmax(maps[1][1])) != 0, "the second word must not attend to the first cell most"
    captions = [caption.text, lines[1], lines[2]]
    (folder / "captions.txt").write_text("".join(f"valid/{n}.png\t{line}\n" for n, line in enumerate(captions)))
    (folder / "valid.txt").write_text("".join(f"valid/{n}.png\n" for n in range(3)))
    boxes = [[HIT], [MISS], *([] for _ in words[2:])]
    gold = {"image": "valid/0.png", "words": words, "boxes": boxes}
    (folder / "boxes.jsonl").write_bytes(msgspec.json.encode(gold) + b"\n")


@contextmanager
def captioning_server(folder: Path) -> Iterator[CaptioningServer]:
    """Run the server over the captioners until the block ends."""
    log = folder / f"server-{os.getpid()}.log"  # other workers have servers over these models too
    with running_server(log, *(folder / name / "model" for name in MODELS)) as url:
        yield CaptioningServer(url, folder)
