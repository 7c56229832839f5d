"""Shapes in signatures are checked at run time in every test; two threads at most, as on the smallest machine we promise."""

import os

from jaxtyping import install_import_hook

for room in ("attention", "layers", "models", "decoding", "batch"):
    install_import_hook(f"regard.{room}", "beartype.beartype")

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from hypothesis import settings  # noqa: E402

settings.register_profile("regard", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("regard")
