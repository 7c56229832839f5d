"""What the laws do not cover: the gate, the penalty of doubly stochastic attention, and that a captioner learns."""

from typing import Any

import pytest
import torch
from torch.testing import assert_close

from regard.attention.recording import record_attention
from regard.batch import Batch, Grid, Padded, Pictures
from regard.config import (
    AttendingCaptionerConfig,
    CaptionerConfig,
    DecodingConfig,
    PatchesEye,
    RecurrentCaptionerConfig,
    RecurrentStack,
    ResidualEye,
    Stack,
    TransformerCaptionerConfig,
)
from regard.decoding.loop import generate
from regard.models.catalogue import build
from regard.symbols import BEGIN, PADDING
from regard.training.validation import batch_loss

VOCABULARY = 13
EYE = ResidualEye(width=5, blocks=2)
DECODER = RecurrentStack(width=14)
PLACES = 12


def attending(**options: Any) -> Any:
    torch.manual_seed(0)
    config = AttendingCaptionerConfig(eye=EYE, embedding=7, decoder=DECODER, dropout=0.0, **options)
    return build(config, target_vocabulary=VOCABULARY)


def pictures(count: int = 2) -> Pictures:
    return Pictures(torch.rand(count, 3, 12, 16, generator=torch.Generator().manual_seed(3)) * 255)


def decoded(model: Any, tokens: torch.Tensor) -> Any:
    memory = model.encode(pictures(len(tokens)))
    return model.decode(tokens, memory, model.start(memory))


def test_the_penalty_is_how_far_each_places_weights_are_from_one_over_real_words() -> None:
    model = attending(doubly_stochastic=0.5).train()
    tokens = torch.tensor([[BEGIN, 6, 7, 8], [BEGIN, 9, PADDING, PADDING]])
    with record_attention(model) as recording:
        penalty = decoded(model, tokens).penalty.detach()
    weights = recording.layers["picture_attention"]["weights"][:, 0]
    assert weights.shape == (2, 4, PLACES)
    for row, words in enumerate((4, 2)):
        expected = sum((1 - float(weights[row, :words, place].sum())) ** 2 for place in range(PLACES)) / 2
        assert float(penalty[row]) == pytest.approx(expected, rel=1e-5)


def test_there_is_no_penalty_where_nobody_trains_or_none_is_asked_for() -> None:
    tokens = torch.tensor([[BEGIN, 6]])
    assert decoded(attending(doubly_stochastic=0.5).eval(), tokens).penalty is None
    assert decoded(attending().train(), tokens).penalty is None


def test_the_loss_has_the_penalty_in_it_and_its_gradient_reaches_the_attention() -> None:
    batch = Batch.of(pictures(), [[6, 7, 8], [9]])
    plain, evened = attending().train(), attending(doubly_stochastic=0.5).train()
    without, with_it = (batch_loss(model, batch, smoothing=0.0) for model in (plain, evened))
    penalty = decoded(evened, batch.inputs.tokens).penalty.sum()
    assert_close(with_it - without, penalty, rtol=1e-4, atol=1e-4)
    without.backward()
    with_it.backward()
    gradients = [model.picture_attention.score.vector.grad for model in (plain, evened)]
    assert (gradients[0] - gradients[1]).abs().max() > 1e-4


def test_a_closed_gate_hides_the_picture_and_an_open_one_shows_it_whole() -> None:
    model, tokens = attending(gate=True).eval(), torch.tensor([[BEGIN, 6, 7]])
    torch.nn.init.zeros_(model.gate.weight)
    ungated = attending(gate=False).eval()
    ungated.load_state_dict({name: value for name, value in model.state_dict().items() if not name.startswith("gate")})
    torch.nn.init.constant_(model.gate.bias, 100.0)
    assert_close(decoded(model, tokens).logits, decoded(ungated, tokens).logits)
    torch.nn.init.constant_(model.gate.bias, -100.0)
    memory = model.encode(pictures(1))
    brighter = model.encode(Pictures(255 - pictures(1).pixels))
    same = [model.decode(tokens, one, memory.first).logits for one in (memory, brighter)]  # from the same first state
    assert_close(same[0], same[1])


CAPTIONERS = [
    RecurrentCaptionerConfig(eye=EYE, embedding=16, decoder=RecurrentStack(width=32), dropout=0.0),
    AttendingCaptionerConfig(eye=EYE, embedding=16, decoder=RecurrentStack(width=32), dropout=0.0),
    TransformerCaptionerConfig(
        eye=PatchesEye(size=12, patch=4, stack=Stack(layers=1, width=32, heads=2, inner=32), dropout=0.0),
        decoder=Stack(layers=1, width=32, heads=2, inner=64),
        dropout=0.0,
    ),
]


@pytest.mark.parametrize("config", CAPTIONERS, ids=lambda config: type(config).__name__)
def test_a_captioner_learns_to_tell_a_few_pictures_apart(config: CaptionerConfig) -> None:
    torch.manual_seed(1)
    model, seen = build(config, target_vocabulary=VOCABULARY).train(), pictures(6)
    captions = [[5 + index, 5 + (index * 3) % 8, 5 + (index * 5) % 7] for index in range(6)]
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(60):
        optimiser.zero_grad()
        batch_loss(model, Batch.of(seen, captions), smoothing=0.0).backward()
        optimiser.step()
    found = generate(model.eval(), seen, DecodingConfig(beam=1, length_extra=5))  # type: ignore[arg-type]
    assert sum(own[0].tokens == caption for own, caption in zip(found, captions, strict=True)) >= 5


@pytest.mark.parametrize("config", CAPTIONERS, ids=lambda config: type(config).__name__)
def test_what_the_eye_saw_already_gives_the_same_words(config: CaptionerConfig) -> None:
    model: Any = build(config, target_vocabulary=VOCABULARY).eval()
    tokens = Padded.from_rows([[BEGIN, 6, 7]] * 2).tokens
    logits = []
    for source in (pictures(), Grid(model.eye(pictures()))):
        memory = model.encode(source)
        logits.append(model.decode(tokens, memory, model.start(memory)).logits)
    assert_close(logits[0], logits[1])
