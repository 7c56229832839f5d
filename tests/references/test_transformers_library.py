"""Marian, BERT and GPT-2 of the transformers library, built small from random configs, say the same as our models."""

import random
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    MarianConfig,
    MarianMTModel,
)

from regard.batch import PaddedTokens
from regard.config import DecoderOnlyConfig, EncoderOnlyConfig, TransformerConfig, TransformerStackConfig
from regard.inference.mask_filler import masked_log_likelihoods
from regard.inference.text_generator import causal_log_likelihoods
from regard.models.decoder_only import DecoderOnlyModel
from regard.models.encoder_only import ClassHead, EncoderOnlyModel, MaskedTokenHead
from regard.models.transformer import TransformerModel
from regard.special_tokens import BEGIN, END, MASK, PADDING, RESERVED
from tests.support.copied_weights import (
    class_head_from_bert,
    decoder_only_from_gpt2,
    encoder_only_from_bert,
    masked_token_head_from_bert,
    randomise_weights,
    transformer_from_marian,
)

TOLERANCE = {"atol": 1e-4, "rtol": 0.0}
PRIMES = (11, 13, 17, 19, 23, 29, 31)
THEIR_NAMES = {"relu": "relu", "gelu": "gelu", "silu": "swish"}


@dataclass(frozen=True)
class Case:
    """Sizes drawn at random: heads, their width and all else are different primes, so that no axis fits another."""

    seed: int
    heads: int
    width: int
    layers: tuple[int, int]
    inner: tuple[int, int]
    vocabularies: tuple[int, int]
    lengths: tuple[int, ...]
    activation: str

    @classmethod
    def drawn(cls, seed: int) -> "Case":
        draw = random.Random(seed)
        heads, head_width = draw.sample((2, 3, 5), 2)
        inner, other_inner, vocabulary, other_vocabulary = draw.sample(PRIMES, 4)
        return cls(
            seed=seed,
            heads=heads,
            width=heads * head_width,
            layers=(draw.randint(1, 3), draw.randint(1, 3)),
            inner=(inner, other_inner),
            vocabularies=(vocabulary, other_vocabulary),
            lengths=(7, draw.randint(2, 6), 1),
            activation=list(THEIR_NAMES)[seed % 3],
        )

    def stack(self, side: int = 0) -> TransformerStackConfig:
        return TransformerStackConfig(
            layers=self.layers[side], width=self.width, heads=self.heads, ffn_width=self.inner[side]
        )

    def source(self) -> PaddedTokens:
        """Rows of different lengths, and so with padding."""
        draw = random.Random(self.seed)
        last = self.vocabularies[0] - 1
        return PaddedTokens.from_rows([[draw.randint(len(RESERVED), last) for _ in range(n)] for n in self.lengths])

    def target(self, length: int = 5) -> Tensor:
        torch.manual_seed(self.seed)
        return torch.randint(1, self.vocabularies[1], (len(self.lengths), length))


every_case = pytest.mark.parametrize(
    "case", [Case.drawn(seed) for seed in range(6)], ids=lambda case: f"seed{case.seed}"
)


# --- Marian ----------------------------------------------------------------------------------------------------------


def marian(case: Case, *, is_shared: bool) -> Any:
    config = MarianConfig(
        vocab_size=case.vocabularies[0],
        decoder_vocab_size=case.vocabularies[0 if is_shared else 1],
        share_encoder_decoder_embeddings=is_shared,
        d_model=case.width,
        encoder_layers=case.layers[0],
        decoder_layers=case.layers[1],
        encoder_attention_heads=case.heads,
        decoder_attention_heads=case.heads,
        encoder_ffn_dim=case.inner[0],
        decoder_ffn_dim=case.inner[1],
        activation_function=THEIR_NAMES[case.activation],
        scale_embedding=True,
        max_position_embeddings=37,
        pad_token_id=PADDING,
        bos_token_id=BEGIN,
        eos_token_id=END,
        decoder_start_token_id=BEGIN,
        attn_implementation="eager",
    )
    model = MarianMTModel(config).eval()
    randomise_weights(model, case.seed)
    return model


def our_transformer(case: Case, theirs: Any, *, is_shared: bool) -> TransformerModel:
    config = TransformerConfig(
        encoder=case.stack(0),
        decoder=case.stack(1),
        activation=case.activation,
        norm="post",
        share_embeddings=is_shared,
    )
    source, target = case.vocabularies
    model = TransformerModel(config, source, source if is_shared else target).eval()
    transformer_from_marian(model, theirs)
    return model


@every_case
@pytest.mark.parametrize("is_shared", [True, False], ids=["shared", "separate"])
def test_the_transformer_equals_marian(case: Case, is_shared: bool) -> None:
    theirs = marian(case, is_shared=is_shared)
    ours = our_transformer(case, theirs, is_shared=is_shared)
    source, target = case.source(), case.target() % case.vocabularies[0]
    assert source.has_padding
    with torch.no_grad():
        expected = theirs(input_ids=source.tokens, attention_mask=source.is_real.long(), decoder_input_ids=target)
        memory = ours.encode(source)
        found = ours.decode(target, memory, ours.init_state(memory)).logits
    assert_close(found, expected.logits, **TOLERANCE)


@every_case
def test_the_transformer_step_by_step_equals_marian(case: Case) -> None:
    theirs = marian(case, is_shared=False)
    ours = our_transformer(case, theirs, is_shared=False)
    source, target = case.source(), case.target()
    with torch.no_grad():
        expected = theirs(input_ids=source.tokens, attention_mask=source.is_real.long(), decoder_input_ids=target)
        memory = ours.encode(source)
        state, steps = ours.init_state(memory), []
        for token in target.split(1, dim=1):
            decoded = ours.decode(token, memory, state)
            state, steps = decoded.state, [*steps, decoded.logits]
    assert_close(torch.cat(steps, dim=1), expected.logits, **TOLERANCE)


# --- BERT ------------------------------------------------------------------------------------------------------------


def bert_config(case: Case, **more: Any) -> BertConfig:
    return BertConfig(
        vocab_size=case.vocabularies[0],
        hidden_size=case.width,
        num_hidden_layers=case.layers[0],
        num_attention_heads=case.heads,
        intermediate_size=case.inner[0],
        hidden_act=THEIR_NAMES[case.activation],
        max_position_embeddings=37,
        layer_norm_eps=1e-5,
        pad_token_id=PADDING,
        attn_implementation="eager",
        **more,
    )


def our_encoder(case: Case, theirs: Any, *, classes: int = 0) -> EncoderOnlyModel:
    config = EncoderOnlyConfig(
        transformer=case.stack(),
        activation=case.activation,
        norm="post",
        positions="learned",
        max_position_embeddings=37,
        classes=classes,
    )
    model = EncoderOnlyModel(config, case.vocabularies[0]).eval()
    encoder_only_from_bert(model, theirs)
    return model


@every_case
def test_the_encoder_equals_bert(case: Case) -> None:
    theirs = BertModel(bert_config(case)).eval()
    randomise_weights(theirs, case.seed)
    ours, source = our_encoder(case, theirs), case.source()
    with torch.no_grad():
        expected = theirs(input_ids=source.tokens, attention_mask=source.is_real.long()).last_hidden_state
        assert_close(ours.encode(source), expected, **TOLERANCE)


@every_case
def test_the_masked_token_head_equals_berts(case: Case) -> None:
    theirs = BertForMaskedLM(bert_config(case, tie_word_embeddings=False)).eval()
    randomise_weights(theirs, case.seed)
    ours, source = our_encoder(case, theirs.bert), case.source()
    assert isinstance(ours.head, MaskedTokenHead)
    masked_token_head_from_bert(ours.head, theirs.cls.predictions)
    with (
        torch.no_grad()
    ):  # our table holds the type's vector too, and so must the output layer that is compared with it
        theirs.cls.predictions.decoder.weight.copy_(ours.embedding.tokens.weight)
        expected = theirs(input_ids=source.tokens, attention_mask=source.is_real.long()).logits
        assert_close(ours(source), expected, **TOLERANCE)


@every_case
def test_log_likelihoods_equal_those_of_bert(case: Case) -> None:
    theirs = BertForMaskedLM(bert_config(case, tie_word_embeddings=False)).eval()
    randomise_weights(theirs, case.seed)
    ours = our_encoder(case, theirs.bert)
    assert isinstance(ours.head, MaskedTokenHead)
    masked_token_head_from_bert(ours.head, theirs.cls.predictions)
    row = case.source().tokens[0, :3].tolist()
    [known] = masked_log_likelihoods(ours, [row], device=torch.device("cpu"))
    expected = 0.0
    with torch.no_grad():
        theirs.cls.predictions.decoder.weight.copy_(ours.embedding.tokens.weight)
        for place, token in enumerate(row):
            tokens = torch.tensor([[*row[:place], MASK, *row[place + 1 :], END]])
            expected += float(theirs(input_ids=tokens).logits[0, place].log_softmax(dim=-1)[token])
    assert known.tokens == 3
    assert known.log_probability == pytest.approx(expected, rel=1e-4)


@every_case
def test_the_class_head_equals_berts(case: Case) -> None:
    theirs = BertForSequenceClassification(bert_config(case, num_labels=7)).eval()
    randomise_weights(theirs, case.seed)
    ours, source = our_encoder(case, theirs.bert, classes=7), case.source()
    assert isinstance(ours.head, ClassHead)
    class_head_from_bert(ours.head, theirs.bert.pooler, theirs.classifier)
    with torch.no_grad():
        expected = theirs(input_ids=source.tokens, attention_mask=source.is_real.long()).logits
        assert_close(ours(source), expected, **TOLERANCE)


# --- GPT-2 -----------------------------------------------------------------------------------------------------------


def gpt2(case: Case) -> Any:
    theirs = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=case.vocabularies[1],
            n_embd=case.width,
            n_layer=case.layers[1],
            n_head=case.heads,
            n_inner=case.inner[1],
            n_positions=37,
            activation_function=THEIR_NAMES[case.activation],
            bos_token_id=BEGIN,
            eos_token_id=END,
            attn_implementation="eager",
        )
    ).eval()
    randomise_weights(theirs, case.seed)
    return theirs


def our_decoder(case: Case, theirs: Any) -> DecoderOnlyModel:
    config = DecoderOnlyConfig(
        transformer=case.stack(1), norm="pre", activation=case.activation, max_position_embeddings=37
    )
    ours = DecoderOnlyModel(config, case.vocabularies[1]).eval()
    decoder_only_from_gpt2(ours, theirs)
    return ours


@every_case
def test_the_decoder_equals_gpt2(case: Case) -> None:
    theirs = gpt2(case)
    ours = our_decoder(case, theirs)
    tokens = case.target(length=7)
    with torch.no_grad():
        memory = ours.encode(PaddedTokens.from_rows(tokens.tolist()))
        found = ours.decode(tokens, memory, ours.init_state(memory)).logits
        assert_close(found, theirs(input_ids=tokens).logits, **TOLERANCE)


@every_case
def test_log_likelihoods_equal_those_of_gpt2(case: Case) -> None:
    theirs = gpt2(case)
    rows = [row[: 3 + place] for place, row in enumerate(case.target(length=7)[:, 1:].tolist())]
    known = list(causal_log_likelihoods(our_decoder(case, theirs), rows, device=torch.device("cpu")))
    for row, ours in zip(rows, known, strict=True):
        tokens = torch.tensor([[BEGIN, *row, END]])
        with torch.no_grad():
            loss = theirs(input_ids=tokens, labels=tokens).loss
        assert ours.tokens == len(row) + 1
        assert ours.log_probability == pytest.approx(-float(loss) * ours.tokens, rel=1e-4)
