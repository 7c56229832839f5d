"""Models that speak as one: of one model it is that model, of two it is the mean of their log-probabilities."""

import pytest
import torch

from regard.batch import encode_source_rows
from regard.config import DecodingConfig, RecurrentLayersConfig, RNNConfig, TransformerConfig, TransformerStackConfig
from regard.decoding.ensemble import Ensemble
from regard.decoding.loop import generate, rescore
from regard.errors import RegardError
from regard.models.factory import build_model
from regard.models.interface import GenerativeModel
from tests.support.small_models import randomise

STACK = TransformerStackConfig(layers=1, width=12, heads=2, ffn_width=7)
ROWS = RecurrentLayersConfig(layers=1, width=5)
SOURCE = encode_source_rows([[7, 8, 9], [6], [9, 9, 5, 6, 7]])
CONFIG = DecodingConfig(beam_size=3, nbest=2, max_length_ratio=1.0, max_length_extra=3)


def models() -> list[torch.nn.Module]:
    """A Transformer and an RNN, which share nothing but their vocabularies."""
    kinds = (
        TransformerConfig(encoder=STACK, decoder=STACK, positions="learned", max_position_embeddings=9),
        RNNConfig(embedding_width=3, encoder=ROWS, decoder=ROWS),
    )
    built = [build_model(kind, source_vocabulary=11, target_vocabulary=13).double().eval() for kind in kinds]
    return [randomise(model, seed) for seed, model in enumerate(built)]


def test_one_model_alone_is_itself() -> None:
    for model in models():
        alone, ensemble = generate(model, SOURCE, CONFIG), generate(Ensemble([model]), SOURCE, CONFIG)
        assert [[one.tokens for one in own] for own in alone] == [[one.tokens for one in own] for own in ensemble]
        assert [own[0].score for own in alone] == pytest.approx([own[0].score for own in ensemble])


def test_ensemble_is_normalised_mean_of_log_probabilities() -> None:
    both = models()
    ensemble = Ensemble(both)
    tokens = torch.tensor([[2, 7, 8], [2, 5, 6], [2, 12, 11]])
    output = []
    for model in both:
        memory = model.encode(SOURCE)
        output.append(model.decode(tokens, memory, model.init_state(memory)).logits.log_softmax(dim=-1))
    memory = ensemble.encode(SOURCE)
    found = ensemble.decode(tokens, memory, ensemble.init_state(memory)).logits
    assert torch.allclose(found.log_softmax(dim=-1), ((output[0] + output[1]) / 2).log_softmax(dim=-1))


def test_ensemble_decodes_with_scores_of_one_pass() -> None:
    ensemble = Ensemble(models())
    assert isinstance(ensemble, GenerativeModel)
    assert ensemble.max_positions == 9
    for sentence, own in enumerate(generate(ensemble, SOURCE, CONFIG)):
        for one in (one for one in own if one.is_finished):
            again = rescore(ensemble, SOURCE, [one.tokens], sentences=[sentence]).sum()
            assert float(again) == pytest.approx(one.log_probability, abs=1e-9)


def test_empty_ensemble_is_refused() -> None:
    with pytest.raises(RegardError, match="at least one"):
        Ensemble([])
