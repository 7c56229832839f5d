"""Models by their ids on the Hugging Face hub (extra `hub`): downloaded into its cache, then read as a directory.

Only the files that an import reads are downloaded. A model in the cache is used without a network.
"""

import re
from importlib.util import find_spec
from pathlib import Path

from regard.errors import RegardError

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
WANTED = ["*.json", "*.safetensors", "*.spm", "*.model", "*.txt", "*.yml", "*.gguf", "model.bin", "*.npz"]
PICKLES = ["pytorch_model*.bin"]  # only for a model that has no safetensors


def is_hub_id(what: str) -> bool:
    """Whether this can only be the id of a model on the hub: an owner and a name, and no path of that name."""
    return HUB_ID.fullmatch(what) is not None and not Path(what).exists()


def download(model: str) -> Path:
    """The directory of a model of the hub, in the library's cache."""
    if find_spec("huggingface_hub") is None:
        raise RegardError(
            f"{model} does not exist here. To download the model of this id from the Hugging Face hub, run pip install "
            "'regard[hub]'; or give a directory, an archive, or a file of a model."
        )
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, LocalEntryNotFoundError, RepositoryNotFoundError

    try:
        directory = Path(snapshot_download(model, allow_patterns=WANTED))
        has_weights = any(one.suffix in (".safetensors", ".gguf", ".npz", ".bin") for one in directory.iterdir())
        return directory if has_weights else Path(snapshot_download(model, allow_patterns=WANTED + PICKLES))
    except GatedRepoError:
        reason = "its owner restricts access: accept the terms on its page, and log in with hf auth login"
    except RepositoryNotFoundError:
        reason = "the hub has no model with this id, or it is private"
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError, ValueError) as error:
        reason = f"the hub cannot be reached, and the cache does not have it ({type(error).__name__})"
    raise RegardError(
        f"{model} does not exist here and cannot be downloaded: {reason}. Give a directory, or try again."
    )
