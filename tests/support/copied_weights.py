"""Weights of other people's modules carried over to ours, one small function for each kind of module."""

from typing import Any

import torch
from torch import Tensor, nn

from regard.attention.multi_head import MultiHeadAttention
from regard.layers.recurrent import RecurrentLayers
from regard.layers.transformer_block import TransformerBlock, TransformerStack
from regard.models.decoder_only import DecoderOnlyModel
from regard.models.encoder_only import ClassHead, EncoderOnlyModel, MaskedTokenHead
from regard.models.transformer import TransformerModel


def randomise_weights(module: nn.Module, seed: int) -> None:
    """Random weights everywhere, so that no bias is zero, no norm the identity, and none can be mixed up unseen."""
    torch.manual_seed(seed)
    for parameter in module.parameters():
        if parameter.requires_grad:
            nn.init.normal_(parameter, std=parameter.shape[-1] ** -0.5)


def copy_state(ours: nn.Module, theirs: nn.Module) -> None:
    """A linear layer or a norm."""
    ours.load_state_dict(theirs.state_dict())


def copy_values(ours: Tensor, values: Tensor) -> None:
    assert ours.shape == values.shape
    with torch.no_grad():
        ours.copy_(values)


# --- torch -----------------------------------------------------------------------------------------------------------


def multi_head_from_torch(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    weights: Any = [theirs.q_proj_weight, theirs.k_proj_weight, theirs.v_proj_weight]
    if theirs.in_proj_weight is not None:
        weights = theirs.in_proj_weight.chunk(3)
    layers = [ours.query, ours.key, ours.value]
    for layer, weight, bias in zip(layers, weights, theirs.in_proj_bias.chunk(3), strict=True):
        copy_values(layer.weight, weight)
        copy_values(layer.bias, bias)
    copy_state(ours.output, theirs.out_proj)


def block_from_torch(ours: TransformerBlock, theirs: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer) -> None:
    multi_head_from_torch(ours.self_attention.attention, theirs.self_attn)
    residuals = [ours.self_attention_residual, ours.feed_forward_residual]
    if isinstance(theirs, nn.TransformerDecoderLayer):
        multi_head_from_torch(ours.cross_attention, theirs.multihead_attn)
        residuals.insert(1, ours.cross_attention_residual)
    for number, around in enumerate(residuals, start=1):
        copy_state(around.norm, getattr(theirs, f"norm{number}"))
    copy_state(ours.feed_forward.fc1, theirs.linear1)
    copy_state(ours.feed_forward.fc2, theirs.linear2)


def recurrent_from_torch(ours: RecurrentLayers, theirs: nn.RNNBase) -> None:
    copy_state(ours.rnn, theirs)


# --- transformers: Marian --------------------------------------------------------------------------------------------


def transformer_from_marian(ours: TransformerModel, theirs: Any) -> None:
    copy_values(ours.source_embedding.tokens.weight, theirs.model.encoder.embed_tokens.weight)
    copy_values(ours.target_embedding.tokens.weight, theirs.model.decoder.embed_tokens.weight)
    _stack_from_marian(ours.encoder, theirs.model.encoder)
    _stack_from_marian(ours.decoder, theirs.model.decoder)
    _interleave_width(ours)


def _interleave_width(model: TransformerModel) -> None:
    """Reorder the width: Marian has all sines before all cosines, and here they alternate."""
    width = model.source_embedding.tokens.weight.shape[1]
    order = torch.cat([torch.arange(0, width, 2), torch.arange(1, width, 2)]).argsort()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith(("tokens.weight", "query.weight", "key.weight", "value.weight", "fc1.weight")):
                weight.copy_(weight[:, order])
            elif not name.endswith(("query.bias", "key.bias", "value.bias", "fc1.bias")):
                weight.copy_(weight[order])


def _stack_from_marian(ours: TransformerStack, theirs: Any) -> None:
    for block, layer in zip(ours.blocks, theirs.layers, strict=True):
        _multi_head_from_marian(block.self_attention.attention, layer.self_attn)
        copy_state(block.self_attention_residual.norm, layer.self_attn_layer_norm)
        if hasattr(layer, "encoder_attn"):
            _multi_head_from_marian(block.cross_attention, layer.encoder_attn)
            copy_state(block.cross_attention_residual.norm, layer.encoder_attn_layer_norm)
        copy_state(block.feed_forward.fc1, layer.fc1)
        copy_state(block.feed_forward.fc2, layer.fc2)
        copy_state(block.feed_forward_residual.norm, layer.final_layer_norm)


def _multi_head_from_marian(ours: MultiHeadAttention, theirs: Any) -> None:
    copy_state(ours.query, theirs.q_proj)
    copy_state(ours.key, theirs.k_proj)
    copy_state(ours.value, theirs.v_proj)
    copy_state(ours.output, theirs.out_proj)


# --- transformers: BERT ----------------------------------------------------------------------------------------------


def encoder_only_from_bert(ours: EncoderOnlyModel, theirs: Any) -> None:
    """A BERT whose every token is of type 0: that type's vector is part of each word's."""
    table = theirs.embeddings
    copy_values(ours.embedding.tokens.weight, table.word_embeddings.weight + table.token_type_embeddings.weight[0])
    copy_values(ours.embedding.positions.weight, table.position_embeddings.weight)
    copy_state(ours.norm, table.LayerNorm)
    for block, layer in zip(ours.encoder.blocks, theirs.encoder.layer, strict=True):
        attention = block.self_attention.attention
        for name in ("query", "key", "value"):
            copy_state(getattr(attention, name), getattr(layer.attention.self, name))
        copy_state(attention.output, layer.attention.output.dense)
        copy_state(block.self_attention_residual.norm, layer.attention.output.LayerNorm)
        copy_state(block.feed_forward.fc1, layer.intermediate.dense)
        copy_state(block.feed_forward.fc2, layer.output.dense)
        copy_state(block.feed_forward_residual.norm, layer.output.LayerNorm)


def masked_token_head_from_bert(ours: MaskedTokenHead, theirs: Any) -> None:
    """The head of a BERT for masked words; the table it shares with the embedding has been carried over."""
    copy_state(ours.transform, theirs.transform.dense)
    copy_state(ours.norm, theirs.transform.LayerNorm)
    copy_values(ours.bias, theirs.decoder.bias)


def class_head_from_bert(ours: ClassHead, pooler: Any, classifier: nn.Linear) -> None:
    copy_state(ours.dense, pooler.dense)
    copy_state(ours.output, classifier)


# --- transformers: SigLIP --------------------------------------------------------------------------------------------


def stack_from_siglip(ours: TransformerStack, theirs: Any) -> None:
    """The blocks and the last norm of a SigLIP vision model."""
    for block, layer in zip(ours.blocks, theirs.encoder.layers, strict=True):
        _multi_head_from_marian(block.self_attention.attention, layer.self_attn)  # its projections have these names
        copy_state(block.self_attention_residual.norm, layer.layer_norm1)
        copy_state(block.feed_forward.fc1, layer.mlp.fc1)
        copy_state(block.feed_forward.fc2, layer.mlp.fc2)
        copy_state(block.feed_forward_residual.norm, layer.layer_norm2)
    copy_state(ours.norm, theirs.post_layernorm)


# --- transformers: GPT-2 ---------------------------------------------------------------------------------------------


def decoder_only_from_gpt2(ours: DecoderOnlyModel, theirs: Any) -> None:
    copy_values(ours.embedding.tokens.weight, theirs.transformer.wte.weight)
    copy_values(ours.embedding.positions.weight, theirs.transformer.wpe.weight)
    copy_state(ours.decoder.norm, theirs.transformer.ln_f)
    for block, layer in zip(ours.decoder.blocks, theirs.transformer.h, strict=True):
        attention = block.self_attention.attention
        projections = [attention.query, attention.key, attention.value]
        weights, biases = layer.attn.c_attn.weight.chunk(3, dim=1), layer.attn.c_attn.bias.chunk(3)
        for projection, weight, bias in zip(projections, weights, biases, strict=True):
            _linear_from_gpt2(projection, weight, bias)
        _linear_from_gpt2(attention.output, layer.attn.c_proj.weight, layer.attn.c_proj.bias)
        _linear_from_gpt2(block.feed_forward.fc1, layer.mlp.c_fc.weight, layer.mlp.c_fc.bias)
        _linear_from_gpt2(block.feed_forward.fc2, layer.mlp.c_proj.weight, layer.mlp.c_proj.bias)
        copy_state(block.self_attention_residual.norm, layer.ln_1)
        copy_state(block.feed_forward_residual.norm, layer.ln_2)


def _linear_from_gpt2(ours: nn.Linear, weight: Tensor, bias: Tensor) -> None:
    copy_values(ours.weight, weight.T)  # GPT-2 keeps its matrices as (inputs, outputs)
    copy_values(ours.bias, bias)
