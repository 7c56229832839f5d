"""The tree of a beam search: every prefix that was once in the beam, and what became of it.

It is recorded from the steps of the one decode loop, which it does not change: its best output is that of `generate`.
"""

from dataclasses import dataclass, replace
from typing import Literal

from regard.config import DecodingConfig
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.loop import best_hypotheses, decode_steps
from regard.models.interface import GenerativeModel, Source
from regard.special_tokens import END

Prefix = tuple[int, ...]
NodeState = Literal["continued", "pruned", "finished"]


@dataclass(frozen=True)
class BeamNode:
    """A token after a prefix: its parent in the list of nodes (None: BEGIN), and the log-probability up to here."""

    token: int
    parent: int | None
    log_probability: float
    state: NodeState = "pruned"  # a finished node is the END of an output, or its last token at the maximum length
    score: float | None = None  # of a finished output, normalised for length
    is_best: bool = False  # on the path to the best output


@dataclass(frozen=True)
class BeamTree:
    """The nodes, each after its parent, and the outputs, the best first."""

    nodes: list[BeamNode]
    outputs: list[Hypothesis]


def record_beam_tree(model: GenerativeModel, source: Source, config: DecodingConfig) -> BeamTree:
    """Search as `generate` does for one sentence, and record the tree of all hypotheses."""
    totals: dict[Prefix, float] = {}
    for found in decode_steps(model, source, config):
        if len(found.tokens):  # the live hypotheses of the sentence
            rows = zip(found.tokens[0].tolist(), found.scores[0].tolist(), strict=True)
            totals |= {tuple(tokens): score for tokens, score in rows if score > float("-inf")}
    ended = {_path(one): one for one in found.finished[0]}
    for path, one in ended.items():
        totals[path] = one.log_probability
    [outputs] = best_hypotheses(found, config)
    best = _path(outputs[0])
    order = sorted(totals, key=lambda path: (len(path), path))
    index = {path: number for number, path in enumerate(order)}
    parents = {path[:-1] for path in order}
    nodes = []
    for path in order:
        node = BeamNode(path[-1], index.get(path[:-1]), totals[path], is_best=path == best[: len(path)])
        if path in ended:
            node = replace(node, state="finished", score=ended[path].score)
        elif path in parents:
            node = replace(node, state="continued")
        nodes.append(node)
    return BeamTree(nodes, outputs)


def _path(output: Hypothesis) -> Prefix:
    return (*output.tokens, END) if output.is_finished else tuple(output.tokens)
