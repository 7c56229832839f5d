"""What to change in a model: interventions as data, from JSON or from strings. Nothing here imports torch.

As objects they count from 0, as a trace does; as strings, which people read and write, from 1, as commands do.

    cross.2.1=zero            head 1 of the second cross-attention: zero, mean (over a sample) or uniform
    cross.*.*=zero            every head of every cross-attention
    cross.2.1@3=uniform       the third row of its weights: uniform, renormalise, or numbers such as 0.1,0.9
    cross.*.*@3-4>5,6         these rows moved to these keys, as a gold link would have them
    cross.2.1@3:5=0.7         one weight; the others of the row are scaled, or stay the same with 0.7,keep
    hide.source.4             the vector of a token is zero, and no attention reads it
    hide.source.4:cross.2     one attention (or with :cross those of one role) does not read it
    without.scaling           also causal-mask, positions, residual, layer-norm and layer
    without.residual:decoder.2.cross-attention           only in one stack, layer or sub-layer
    patch.head:cross.2.1@3<4;other text;other target     the context of a head at a position of another sentence
    patch.block:decoder.2@3<4;other text                 the output of a block; patch.memory@3<4;other text
    temperature=0.7, top-k=5, prefix=The man             how the output is chosen
"""

import re
from collections.abc import Iterable
from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Meta, Struct

from regard.errors import RegardError
from regard.struct_decoding import convert

AttentionRole = Literal["encoder-self", "decoder-self", "cross", "image-cross", "image-self"]
Side = Literal["source", "target", "image"]
StackName = Literal["encoder", "decoder", "image-encoder"]
SublayerName = Literal["self-attention", "cross-attention", "feed-forward"]
Part = Literal["scaling", "causal-mask", "positions", "residual", "layer-norm", "layer"]
HeadAction = Literal["zero", "mean", "uniform"]
PatchSite = Literal["head", "block", "memory"]

MAX_INDEX = 100_000
MAX_RANGE = 512
Index = Annotated[int, Meta(ge=0, le=MAX_INDEX)]
Weight = Annotated[float, Meta(ge=0, le=1)]
Temperature = Annotated[float, Meta(gt=0, le=100)]
TopK = Annotated[int, Meta(ge=1, le=MAX_INDEX)]


class Intervention(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """A change; `rows` are the sentences of a batch that it applies to (None: all)."""

    rows: tuple[Index, ...] | None = None


class HeadIntervention(Intervention, frozen=True, kw_only=True, tag="head"):
    """The context of a head is zero, its mean over a sample, or that of uniform weights."""

    role: AttentionRole
    layer: Index | None = None  # within the role; None: all
    head: Index | None = None
    action: HeadAction = "zero"


class RowIntervention(Intervention, frozen=True, kw_only=True, tag="row"):
    """The weights of one query."""

    role: AttentionRole
    layer: Index | None = None
    head: Index | None = None
    query: Index
    action: Literal["uniform", "renormalise", "set", "move"]
    weights: tuple[Weight, ...] = ()  # with "set"
    keys: tuple[Index, ...] = ()  # with "move": uniform over them

    def __post_init__(self) -> None:
        if (self.action == "set") != bool(self.weights) or (self.action == "move") != bool(self.keys):
            raise ValueError("a row needs `weights` with the action set, and `keys` with the action move")
        if self.role == "decoder-self" and any(key > self.query for key in self.keys):
            raise ValueError("a decoder's self-attention cannot move to a later key than its query")


class CellIntervention(Intervention, frozen=True, kw_only=True, tag="cell"):
    """One weight; the others of its row are scaled so that the row sums to one, or kept."""

    role: AttentionRole
    layer: Index | None = None
    head: Index | None = None
    query: Index | None  # None: all; with a weight of 0 that is kept, this is value zeroing
    key: Index
    weight: Weight
    rest: Literal["scale", "keep"] = "scale"


class HideIntervention(Intervention, frozen=True, kw_only=True, tag="hide"):
    """A token (or cell of an image) is hidden: everywhere, or from one role or layer of attention."""

    side: Side
    position: Index
    role: AttentionRole | None = None
    layer: Index | None = None

    def __post_init__(self) -> None:
        if self.layer is not None and self.role is None:
            raise ValueError("a layer needs a role")


class WithoutIntervention(Intervention, frozen=True, kw_only=True, tag="without"):
    """The model without a part of its architecture: everywhere, or in one stack, layer or sub-layer."""

    part: Part
    stack: StackName | None = None
    layer: Index | None = None
    sublayer: SublayerName | None = None

    def __post_init__(self) -> None:
        if (self.layer is not None and self.stack is None) or (self.sublayer is not None and self.layer is None):
            raise ValueError("a sub-layer needs a layer, and a layer needs a stack")
        if self.part == "layer" and (self.layer is None or self.sublayer is not None):
            raise ValueError("without.layer needs a stack and a layer, such as without.layer:decoder.2")


class PatchIntervention(Intervention, frozen=True, kw_only=True, tag="patch"):
    """An activation from another sentence, or the given vector, at one position."""

    site: PatchSite
    role: AttentionRole | None = None  # of a head
    stack: StackName | None = None  # of a block
    layer: Index | None = None
    head: Index | None = None
    position: Index
    from_position: Index = 0
    text: str | None = None
    target: str | None = None  # None: the model's own translation
    vector: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        needed = {"head": (self.role, self.layer, self.head), "block": (self.stack, self.layer), "memory": ()}
        if None in needed[self.site]:
            raise ValueError("a patch of a head needs role, layer and head; a patch of a block needs stack and layer")
        if (self.text is None) == (self.vector is None):
            raise ValueError("a patch needs either a text or a vector")


class DecodeIntervention(Intervention, frozen=True, kw_only=True, tag="decode"):
    """One option of how the output is chosen: sampled by temperature or top-k, or with a forced beginning."""

    temperature: Temperature | None = None
    top_k: TopK | None = None
    prefix: str | tuple[Index, ...] | None = None  # a text, or tokens

    def __post_init__(self) -> None:
        if self.rows is not None:
            raise ValueError("temperature, top-k and prefix apply to the whole batch")
        if [self.temperature, self.top_k, self.prefix].count(None) != 2:
            raise ValueError("give one of temperature, top_k and prefix")


AnyIntervention = (
    HeadIntervention
    | RowIntervention
    | CellIntervention
    | HideIntervention
    | WithoutIntervention
    | PatchIntervention
    | DecodeIntervention
)
GivenIntervention = str | AnyIntervention


class InterventionError(RegardError):
    """An intervention that is not valid, or that does not fit a model; `reason` does not repeat the intervention."""

    def __init__(self, given: GivenIntervention, reason: str) -> None:
        super().__init__(f"{given if isinstance(given, str) else format_intervention(given)} {reason}")
        self.reason = reason


# --- strings ---------------------------------------------------------------------------------------------------------

_ROLES = "|".join(get_args(AttentionRole))
_INTEGER = "[0-9]{1,9}"  # an index is far smaller, and Python parses no number of 4,301 digits
_HEAD = rf"(?P<role>{_ROLES})\.(?P<layer>{_INTEGER}|\*)\.(?P<head>{_INTEGER}|\*)"
_LIST = rf"{_INTEGER}(?:-{_INTEGER})?(?:,{_INTEGER}(?:-{_INTEGER})?)*"
_NUMBER = r"(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:e-?[0-9]+)?"  # one way to match, or long lists would take for ever
_PATTERNS: dict[type[Intervention], str] = {
    HeadIntervention: rf"{_HEAD}=(?P<action>zero|mean|uniform)",
    RowIntervention: rf"{_HEAD}@(?P<query>{_INTEGER}(?:-{_INTEGER})?)(?:=(?P<action>uniform|renormalise)"
    rf"|=(?P<weights>{_NUMBER}(?:,{_NUMBER})*)|>(?P<keys>{_LIST}))",
    CellIntervention: rf"{_HEAD}@(?P<query>{_INTEGER}|\*):(?P<key>{_INTEGER})=(?P<weight>{_NUMBER})"
    r"(?:,(?P<rest>keep|scale))?",
    HideIntervention: rf"hide\.(?P<side>source|target|image)\.(?P<position>{_INTEGER})"
    rf"(?::(?P<role>{_ROLES})(?:\.(?P<layer>{_INTEGER}))?)?",
    WithoutIntervention: rf"without\.(?P<part>{'|'.join(get_args(Part))})(?::(?P<stack>{'|'.join(get_args(StackName))})"
    rf"(?:\.(?P<layer>{_INTEGER})(?:\.(?P<sublayer>{'|'.join(get_args(SublayerName))}))?)?)?",
    PatchIntervention: rf"patch\.(?P<site>head|block|memory)(?::(?:{_HEAD}"
    rf"|(?P<stack>{'|'.join(get_args(StackName))})\.(?P<block>{_INTEGER})))?"
    rf"@(?P<position>{_INTEGER})<(?P<from_position>{_INTEGER});(?P<text>[^;]+)(?:;(?P<target>.+))?",
    DecodeIntervention: rf"temperature=(?P<temperature>{_NUMBER})|top-k=(?P<top_k>{_INTEGER})|prefix=(?P<prefix>.+)",
}
_INDICES = ("layer", "head", "query", "key", "position", "from_position")


def read_interventions(given: Iterable[GivenIntervention]) -> list[AnyIntervention]:
    """Strings and objects as objects; a string with a range of rows becomes one object for each row."""
    found: list[AnyIntervention] = []
    for item in given:
        found += parse_intervention(item) if isinstance(item, str) else [item]
        if len(found) > MAX_RANGE:
            raise InterventionError(item, f"brings the changed rows to more than {MAX_RANGE}. Give fewer.")
    return found


def parse_intervention(text: str) -> list[AnyIntervention]:
    """The interventions of a string: one, or one for each row of a range such as `cross.*.*@3-4>5`."""
    for kind, pattern in _PATTERNS.items():
        if match := re.fullmatch(pattern, text.strip(), flags=re.DOTALL):
            fields = {name: value for name, value in match.groupdict().items() if value is not None}
            queries = _read_list(fields.pop("query")) if kind is RowIntervention else [None]
            return [
                _convert(kind, fields if query is None else fields | {"query": str(query)}, text) for query in queries
            ]
    raise InterventionError(
        text,
        "has no known form. Write one such as cross.2.1=zero, cross.*.*@3>5, hide.source.4 or without.scaling; "
        "docs/what-if.md lists all forms.",
    )


def _convert(kind: type[Intervention], fields: dict[str, str], text: str) -> AnyIntervention:
    """The fields of a string as an intervention; numbers that count from 1 count from 0 in it."""
    values: dict[str, object] = dict(fields)
    if "block" in values:
        fields = fields | {"layer": fields["block"]}
        del values["block"]
    for name in _INDICES:
        if name in fields:
            values[name] = None if fields[name] == "*" else int(fields[name]) - 1
    if kind is RowIntervention:
        values["action"] = fields.get("action") or ("set" if "weights" in fields else "move")
    if "weights" in fields:
        values["weights"] = [float(number) for number in fields["weights"].split(",")]
    if "keys" in fields:
        values["keys"] = [key - 1 for key in _read_list(fields["keys"])]
    try:
        tagged = values | {"kind": kind.__struct_config__.tag}
        return convert(tagged, AnyIntervention, strict=False)  # type: ignore[no-any-return]
    except msgspec.ValidationError as error:
        reason = str(error).split(" - at")[0]
        raise InterventionError(text, f"is not valid: {reason}; numbers count from 1.") from None


def _read_list(text: str) -> list[int]:
    """The numbers of a list such as 3,5-7."""
    bounds = [[int(bound) for bound in part.split("-")] for part in text.split(",")]
    if sum(max(0, one[-1] - one[0]) for one in bounds) > MAX_RANGE:
        raise InterventionError(text, f"has a range of more than {MAX_RANGE} numbers.")
    return [number for one in bounds for number in range(one[0], one[-1] + 1)]


def format_intervention(one: AnyIntervention) -> str:
    """The string of an intervention; `rows` and a vector have no form in it."""
    match one:
        case HeadIntervention():
            return f"{_head(one)}={one.action}"
        case RowIntervention():
            row = f"{_head(one)}@{_number(one.query)}"
            if one.action == "move":
                return f"{row}>{','.join(map(_number, one.keys))}"
            return f"{row}={','.join(f'{weight:g}' for weight in one.weights) if one.action == 'set' else one.action}"
        case CellIntervention():
            kept = ",keep" if one.rest == "keep" else ""
            return f"{_head(one)}@{_number(one.query)}:{_number(one.key)}={one.weight:g}{kept}"
        case HideIntervention():
            return f"hide.{one.side}.{_number(one.position)}{_address(one.role, one.layer)}"
        case WithoutIntervention():
            return f"without.{one.part}{_address(one.stack, one.layer, one.sublayer)}"
        case PatchIntervention():
            where = f":{_head(one)}" if one.site == "head" else _address(one.stack, one.layer)
            texts = [text for text in (one.text, one.target) if text is not None]
            donor = ";".join([f"{_number(one.position)}<{_number(one.from_position)}", *texts])
            return f"patch.{one.site}{where}@{donor}"
        case DecodeIntervention():
            options = {"temperature": one.temperature, "top-k": one.top_k, "prefix": one.prefix}
            return next(f"{name}={value}" for name, value in options.items() if value is not None)


def _head(one: HeadIntervention | RowIntervention | CellIntervention | PatchIntervention) -> str:
    return f"{one.role}.{_number(one.layer)}.{_number(one.head)}"


def _address(name: str | None, layer: int | None, sublayer: str | None = None) -> str:
    parts = [name, None if layer is None else _number(layer), sublayer]
    return "" if name is None else ":" + ".".join(part for part in parts if part is not None)


def _number(index: int | None) -> str:
    return "*" if index is None else str(index + 1)
