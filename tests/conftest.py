"""Shapes in signatures are checked at run time in every test; torch has one thread, as two tests run side by side."""

import os
import signal

import torch
from hypothesis import settings
from jaxtyping import install_import_hook

for room in ("attention", "layers", "models", "decoding", "batch"):
    install_import_hook(f"regard.{room}", "beartype.beartype")

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # the peers are built from configs, never fetched
torch.set_num_threads(1)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a background job, whose commands would ignore it, too
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("regard", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("regard")
