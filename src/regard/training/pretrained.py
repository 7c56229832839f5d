"""The weights that an eye begins with, where a recipe names some: what `regard import` wrote."""

import hashlib
from pathlib import Path

from torch import Tensor, nn

from regard.bundle import read_tensors, restore, tensors_of
from regard.config import CaptionerConfig, EfficientNetEye, EyeConfig, ModelConfig
from regard.errors import RegardError
from regard.layers.eye import Eye
from regard.manifest import read_verified

KIND, VERSION, WEIGHTS = "pretrained", 1, "weights.safetensors"
HEAD = "_fc."  # the classifier on top, which an eye does without


def give_pretrained(model: nn.Module, config: ModelConfig) -> None:
    """Put the weights that the config names into the model's eye; nothing where it names none."""
    if isinstance(config, CaptionerConfig) and (tensors := _tensors(config.eye)) is not None:
        restore(model.get_submodule("eye.network"), tensors, origin=_origin(config.eye))


def pretrained_eye(config: EyeConfig) -> Eye:
    """A frozen eye with the weights that the config names."""
    tensors = _tensors(config)
    if tensors is None:
        raise RegardError(
            "model.eye is frozen, and model.eye.weights names no weights: it would see nothing. Get some with "
            "`regard import efficientnet-lite0 --out DIR` and set model.eye.weights=DIR, or model.eye.frozen=false."
        )
    eye = Eye(config).eval()
    restore(eye.network, tensors, origin=_origin(config))
    return eye


def identity_of(eye: Eye) -> str:
    """A hash of all that an eye's results depend on."""
    whole = hashlib.sha256()
    for name, tensor in sorted(tensors_of(eye).items()):
        whole.update(name.encode() + tensor.numpy().tobytes())
    return whole.hexdigest()


def _tensors(config: EyeConfig) -> dict[str, Tensor] | None:
    if not isinstance(config, EfficientNetEye) or not config.weights:
        return None
    directory = Path(config.weights)
    if not directory.is_dir():
        raise RegardError(
            f"model.eye.weights is {directory}, which is not there. To make it: "
            f"regard import efficientnet-lite0 --out {directory}"
        )
    files = read_verified(directory, KIND, VERSION)
    tensors = read_tensors(files[WEIGHTS], directory / WEIGHTS)
    return {name: tensor for name, tensor in tensors.items() if not name.startswith(HEAD)}


def _origin(config: EyeConfig) -> str:
    return str(Path(getattr(config, "weights", "")) / WEIGHTS)
