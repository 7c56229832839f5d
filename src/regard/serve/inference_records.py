"""What the Open Inference Protocol sends and answers, as structs."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

Identity = Annotated[str, Meta(max_length=200)]
Count = Annotated[int, Meta(ge=1, le=1000)]


class Parameters(msgspec.Struct, frozen=True, kw_only=True):
    """How to search; other parameters are let pass."""

    beam: Count | None = None
    nbest: Count = 1


class InputTensor(msgspec.Struct, frozen=True, kw_only=True):
    """Texts: a row of them, in one list or nested as the shape says."""

    name: str
    shape: Annotated[list[Annotated[int, Meta(ge=0, le=1_000_000)]], Meta(min_length=1, max_length=4)]
    datatype: str
    data: list[Any]
    parameters: dict[str, Any] | None = None


class OutputRequest(msgspec.Struct, frozen=True, kw_only=True):
    """An output that is wanted."""

    name: str
    parameters: dict[str, Any] | None = None


class InferRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What `infer` takes."""

    inputs: Annotated[list[InputTensor], Meta(min_length=1, max_length=1)]
    id: Identity | None = None
    parameters: Parameters = Parameters()
    outputs: list[OutputRequest] | None = None


class Tensor(msgspec.Struct, frozen=True, kw_only=True):
    """An output."""

    name: str
    shape: list[int]
    datatype: Literal["BYTES", "FP32"]
    data: Sequence[str | float]


class InferAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What `infer` gives."""

    model_name: str
    model_version: str
    outputs: list[Tensor]
    id: str | None = None


class TensorRecord(msgspec.Struct, frozen=True):
    """What is said of an input or an output."""

    name: str
    datatype: str
    shape: list[int]


class ModelMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """What is said of a model."""

    name: str
    versions: list[str]
    platform: str
    inputs: list[TensorRecord]
    outputs: list[TensorRecord]


class ServerMetadata(msgspec.Struct, frozen=True):
    """What is said of the server."""

    name: str
    version: str
    extensions: list[str]


class Live(msgspec.Struct, frozen=True):
    """Whether the server answers."""

    live: bool


class Ready(msgspec.Struct, frozen=True):
    """Whether a model can be asked."""

    ready: bool


class ModelReady(msgspec.Struct, frozen=True):
    """Whether this model can be asked."""

    name: str
    ready: bool


class Failure(msgspec.Struct, frozen=True):
    """The form of refusals."""

    error: str
