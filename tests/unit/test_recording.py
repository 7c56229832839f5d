"""What people are told when a model has nothing that could be recorded."""

import pytest
import torch
from torch import nn

import regard
from regard.config import RNNConfig
from regard.models.factory import build_model


def test_model_without_our_layers_gets_an_explained_error() -> None:
    foreign = nn.TransformerEncoderLayer(8, 2, batch_first=True)
    with pytest.warns(UserWarning, match=r"none of regard's attention layers.*regard\.plotting\.plot_attention"):  # noqa: SIM117
        with regard.record_attention(foreign) as recording:
            foreign(torch.zeros(1, 2, 8))
    assert recording.layers == {}


def test_our_model_without_attention_records_nothing() -> None:  # pytest makes a warning an error
    ours = build_model(RNNConfig(embedding_width=4), source_vocabulary=9, target_vocabulary=9)
    with regard.record_attention(ours) as recording:
        pass
    assert recording.layers == {}


def test_error_in_the_block_takes_precedence() -> None:
    with pytest.raises(RuntimeError), regard.record_attention(nn.Linear(2, 2)) as _:
        raise RuntimeError
