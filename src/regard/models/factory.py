"""From a config to the model that it describes.

To add a model, write it in a file of this package, add its config to `ModelConfig` in config.py, and add one row here.
"""

from typing import Any

from torch import nn

from regard import config as configs
from regard.config import ModelConfig, TransformerConfig, task_of
from regard.errors import RegardError
from regard.models.captioners import AttentionRNNCaptioner, RNNCaptioner, TransformerCaptioner
from regard.models.classifiers import AttentionRNNClassifier, ImageClassifier
from regard.models.decoder_only import DecoderOnlyModel
from regard.models.encoder_only import EncoderOnlyModel
from regard.models.rnn import RNNModel
from regard.models.rnn_attention import AttentionRNNModel
from regard.models.transformer import TransformerModel
from regard.special_tokens import RESERVED

TRANSLATION_MODELS: dict[type, Any] = {  # built with the vocabularies of source and target
    configs.RNNConfig: RNNModel,
    configs.AttentionRNNConfig: AttentionRNNModel,
    configs.TransformerConfig: TransformerModel,
}
SINGLE_VOCABULARY_MODELS: dict[type, Any] = {  # built with the vocabulary of the target
    configs.DecoderOnlyConfig: DecoderOnlyModel,
    configs.EncoderOnlyConfig: EncoderOnlyModel,
    configs.AttentionRNNClassifierConfig: AttentionRNNClassifier,
    configs.RNNCaptionerConfig: RNNCaptioner,
    configs.AttentionRNNCaptionerConfig: AttentionRNNCaptioner,
    configs.TransformerCaptionerConfig: TransformerCaptioner,
}
IMAGE_CLASSIFIERS: dict[type, Any] = {configs.ImageClassifierConfig: ImageClassifier}  # without a vocabulary
MODELS = TRANSLATION_MODELS | SINGLE_VOCABULARY_MODELS | IMAGE_CLASSIFIERS


def build_model(config: ModelConfig, *, source_vocabulary: int = 0, target_vocabulary: int = 0) -> nn.Module:
    """A new model with random weights; a model of one language uses the target vocabulary, an image classifier none."""
    model_class = MODELS[type(config)]
    model: nn.Module
    if task_of(config) == "classification" and not config.classes:  # type: ignore[union-attr]
        raise RegardError("model.classes is 0. Give the number of classes; training takes it from the labels.")
    if type(config) in IMAGE_CLASSIFIERS:
        model = model_class(config)
        return model
    if target_vocabulary < len(RESERVED):
        raise RegardError(
            f"the target vocabulary has {target_vocabulary} pieces; {len(RESERVED)} reserved ones are needed."
        )
    if isinstance(config, TransformerConfig) and config.share_embeddings and source_vocabulary != target_vocabulary:
        raise RegardError(
            f"model.share_embeddings needs one vocabulary, and there are two, with {source_vocabulary} and "
            f"{target_vocabulary} pieces. Set tokenizer.shared = true, or model.share_embeddings = false."
        )
    is_translation = type(config) in TRANSLATION_MODELS
    vocabularies = (source_vocabulary, target_vocabulary) if is_translation else (target_vocabulary,)
    model = model_class(config, *vocabularies)
    return model
