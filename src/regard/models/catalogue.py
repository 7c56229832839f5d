"""From a config to the model it describes."""

from torch import nn

from regard.config import (
    AttendingCaptionerConfig,
    AttendingConfig,
    CaptionerConfig,
    ConvolutionalConfig,
    DecoderOnlyConfig,
    EncoderOnlyConfig,
    ModelConfig,
    RecurrentCaptionerConfig,
    RecurrentConfig,
    TransformerCaptionerConfig,
    TransformerConfig,
)
from regard.errors import RegardError
from regard.models.attending import AttendingModel
from regard.models.captioner_attending import AttendingCaptioner
from regard.models.captioner_recurrent import RecurrentCaptioner
from regard.models.captioner_transformer import TransformerCaptioner
from regard.models.convolutional import ConvolutionalModel
from regard.models.decoder_only import DecoderOnlyModel
from regard.models.encoder_only import EncoderOnlyModel
from regard.models.recurrent import RecurrentModel
from regard.models.transformer import TransformerModel
from regard.symbols import RESERVED


def build(config: ModelConfig, *, source_vocabulary: int = 0, target_vocabulary: int = 0) -> nn.Module:
    """A new model with random weights; a model of one language takes the target's vocabulary, a classifier none."""
    if not isinstance(config, ConvolutionalConfig) and target_vocabulary < len(RESERVED):
        raise RegardError(f"the target vocabulary has {target_vocabulary} pieces; {len(RESERVED)} are reserved alone.")
    match config:
        case RecurrentConfig():
            return RecurrentModel(config, source_vocabulary, target_vocabulary)
        case AttendingConfig():
            return AttendingModel(config, source_vocabulary, target_vocabulary)
        case TransformerConfig():
            _check_sharing(config, source_vocabulary, target_vocabulary)
            return TransformerModel(config, source_vocabulary, target_vocabulary)
        case DecoderOnlyConfig():
            return DecoderOnlyModel(config, target_vocabulary)
        case EncoderOnlyConfig():
            return EncoderOnlyModel(config, target_vocabulary)
        case ConvolutionalConfig():
            return ConvolutionalModel(config)
        case _:
            return _captioner(config, target_vocabulary)


def _captioner(config: CaptionerConfig, vocabulary: int) -> nn.Module:
    match config:
        case RecurrentCaptionerConfig():
            return RecurrentCaptioner(config, vocabulary)
        case AttendingCaptionerConfig():
            return AttendingCaptioner(config, vocabulary)
        case TransformerCaptionerConfig():
            return TransformerCaptioner(config, vocabulary)


def _check_sharing(config: TransformerConfig, source_vocabulary: int, target_vocabulary: int) -> None:
    if config.share_embeddings and source_vocabulary != target_vocabulary:
        raise RegardError(
            f"model.share_embeddings needs one vocabulary, and there are two, of {source_vocabulary} and "
            f"{target_vocabulary} pieces. Set tokens.shared = true, or model.share_embeddings = false."
        )
