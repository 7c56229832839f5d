"""The public names with their types, for editors and type checkers; `__init__.py` imports them when they are used."""

from regard import plotting as plotting
from regard import pretrained as pretrained
from regard.attention.attend import AttentionOutput as AttentionOutput
from regard.attention.attend import attend as attend
from regard.attention.attention_layer import AttentionLayer as AttentionLayer
from regard.attention.multi_head import MultiHeadAttention as MultiHeadAttention
from regard.batch import Batch as Batch
from regard.batch import ImageFeatures as ImageFeatures
from regard.batch import Images as Images
from regard.batch import PaddedTokens as PaddedTokens
from regard.batch import encode_source_rows as encode_source_rows
from regard.bundle import Bundle as Bundle
from regard.bundle import load_bundle as load_bundle
from regard.bundle import new_bundle as new_bundle
from regard.bundle import save_bundle as save_bundle
from regard.config import Config as Config
from regard.config import DecodeOptions as DecodeOptions
from regard.config import DecodingConfig as DecodingConfig
from regard.data.conll import TaggedSentence as TaggedSentence
from regard.data.conll import read_tagged_words as read_tagged_words
from regard.decoding.hypothesis import Hypothesis as Hypothesis
from regard.decoding.loop import generate as generate
from regard.decoding.loop import rescore as rescore
from regard.decoding.loop import stream as stream
from regard.errors import RegardError as RegardError
from regard.inference.captioner import Caption as Caption
from regard.inference.captioner import Captioner as Captioner
from regard.inference.classifier import Classification as Classification
from regard.inference.classifier import Classifier as Classifier
from regard.inference.evaluation import CaptionReport as CaptionReport
from regard.inference.evaluation import ClassificationReport as ClassificationReport
from regard.inference.evaluation import PerplexityReport as PerplexityReport
from regard.inference.evaluation import TranslationReport as TranslationReport
from regard.inference.evaluation import evaluate as evaluate
from regard.inference.interface import GeneratedText as GeneratedText
from regard.inference.mask_filler import FilledText as FilledText
from regard.inference.mask_filler import MaskFiller as MaskFiller
from regard.inference.mask_filler import TokenPrediction as TokenPrediction
from regard.inference.open import load as load
from regard.inference.text_generator import TextGenerator as TextGenerator
from regard.inference.translator import Translation as Translation
from regard.inference.translator import Translator as Translator
from regard.models.factory import build_model as build_model
from regard.models.interface import GenerativeModel as GenerativeModel
from regard.tracing.alignment import HeadAlignment as HeadAlignment
from regard.tracing.alignment import HeadSelection as HeadSelection
from regard.tracing.alignment import WordAlignment as WordAlignment
from regard.tracing.capture import record_attention as record_attention
from regard.tracing.image_maps import word_image_maps as word_image_maps
from regard.tracing.interventions import intervene as intervene
from regard.tracing.probing import ProbeReport as ProbeReport
from regard.tracing.probing import probe as probe
from regard.tracing.trace import Trace as Trace
from regard.tracing.trace import trace_pair as trace_pair
from regard.tracing.trace import trace_texts as trace_texts
from regard.training.plan import train as train

__version__: str
__all__ = [
    "AttentionLayer",
    "AttentionOutput",
    "Batch",
    "Bundle",
    "Caption",
    "CaptionReport",
    "Captioner",
    "Classification",
    "ClassificationReport",
    "Classifier",
    "Config",
    "DecodeOptions",
    "DecodingConfig",
    "FilledText",
    "GeneratedText",
    "GenerativeModel",
    "HeadAlignment",
    "HeadSelection",
    "Hypothesis",
    "ImageFeatures",
    "Images",
    "MaskFiller",
    "MultiHeadAttention",
    "PaddedTokens",
    "PerplexityReport",
    "ProbeReport",
    "RegardError",
    "TaggedSentence",
    "TextGenerator",
    "TokenPrediction",
    "Trace",
    "Translation",
    "TranslationReport",
    "Translator",
    "WordAlignment",
    "attend",
    "build_model",
    "encode_source_rows",
    "evaluate",
    "generate",
    "intervene",
    "load",
    "load_bundle",
    "new_bundle",
    "probe",
    "read_tagged_words",
    "record_attention",
    "rescore",
    "save_bundle",
    "stream",
    "trace_pair",
    "trace_texts",
    "train",
    "word_image_maps",
]

def __dir__() -> list[str]: ...
