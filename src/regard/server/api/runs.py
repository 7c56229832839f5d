"""/api/v1 for runs: training events, probes, the evaluation report, and example sentences with gold alignments."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta
from starlette.responses import Response

from regard.data.images import encode_png
from regard.data.text_lines import read_lines
from regard.errors import RegardError
from regard.inference.evaluation import EvaluationReport, TranslationReport
from regard.inference.interface import Task
from regard.inference.traced_caption import PNG_TYPE
from regard.metrics.alignment import GoldAlignment, parse_alignments
from regard.pretrained import is_pretrained
from regard.server.endpoint import (
    FLOATS,
    Content,
    Endpoints,
    Number,
    NumberOrMean,
    floats_response,
    index_or_none,
)
from regard.server.errors import ApiError
from regard.server.models import ServedModel
from regard.server.service import Service
from regard.training.runs import Run, RunEvents, RunImages, RunProbes, RunRecord

ENDPOINTS = Endpoints()
MAX_SHOWN_SENTENCES = 50  # of one length bucket
MAX_SCORED_SENTENCES = 200  # on which heads are measured
DEFAULT_EXAMPLES, MAX_EXAMPLES, MAX_EXAMPLE_WORDS = 8, 500, 12

Result = TypeVar("Result")


class RunsResponse(msgspec.Struct, frozen=True):
    """The runs of the server."""

    runs: list[RunRecord]


class EventsQuery(msgspec.Struct, frozen=True):
    """The number of events to skip."""

    after: Number = 0


class ProbesQuery(msgspec.Struct, frozen=True):
    """The step whose labels and layers to return; the last one by default."""

    step: Number | None = None


class HeadQuery(msgspec.Struct, frozen=True):
    """A head, or the mean of the heads."""

    head: NumberOrMean = "mean"


class ExamplesQuery(msgspec.Struct, frozen=True):
    """Languages, optionally one model, and at most how many sentences."""

    source: str = ""
    target: str = ""
    model: str | None = None
    limit: Annotated[int, Meta(ge=1, le=MAX_EXAMPLES)] = DEFAULT_EXAMPLES


class ExampleSentence(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence to try, its translation, and its word alignment if it is known."""

    source: str
    target: str
    links: list[tuple[int, int]] | None


class ExampleSentencesResponse(msgspec.Struct, frozen=True):
    """Sentences to try."""

    examples: list[ExampleSentence]


class EvaluationQuery(msgspec.Struct, frozen=True):
    """A model that comes with regard, for the report of those; otherwise the report that the server was given."""

    model: str | None = None


class TestSetSize(msgspec.Struct, frozen=True):
    """The size of the test set, and whether the report has its sentences too, not only figures."""

    sentences: int
    has_sentences: bool


class EvaluationResponse(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of all models on the same test set."""

    test: TestSetSize
    models: list[TranslationReport]


class ComparedSentence(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence of the test set, and the output of each model."""

    source: str
    reference: str
    outputs: dict[str, str]


class ComparedSentences(msgspec.Struct, frozen=True):
    """Sentences of one range of lengths."""

    sentences: list[ComparedSentence]


# --- runs ---


@ENDPOINTS.add("GET", "/api/v1/runs")
async def list_runs(service: Service) -> RunsResponse:
    """The runs of the server."""
    runs = [(run, model.name if model.is_ready else None) for model, run in _runs(service)]
    return RunsResponse(await asyncio.to_thread(lambda: [run.record(name) for run, name in runs]))


@ENDPOINTS.add("GET", "/api/v1/runs/{name}/events")
async def events(service: Service, name: str, query: EventsQuery) -> RunEvents:
    """The events of a run after the first `after`."""
    return await _read(_find_run(service, name).events, query.after)


@ENDPOINTS.add("GET", "/api/v1/runs/{name}/probes")
async def probes(service: Service, name: str, query: ProbesQuery) -> RunProbes:
    """The steps at which the attention of the probes was saved, and the labels of one step."""
    return await _read(_find_run(service, name).probes, query.step)


@ENDPOINTS.add("GET", "/api/v1/runs/{name}/probes/{step:number}/{probe:number}/{layer:number}", response=FLOATS)
async def probe_map(service: Service, name: str, step: int, probe: int, layer: int, query: HeadQuery) -> Response:
    """The attention map of a probe: little-endian float32, queries by keys."""
    run = _find_run(service, name)
    return floats_response(await _read(run.probe_map, step, probe, layer, index_or_none(query.head)))


@ENDPOINTS.add("GET", "/api/v1/runs/{name}/images")
async def images(service: Service, name: str) -> RunImages:
    """The names of the images of the probes."""
    return await _read(_find_run(service, name).images)


@ENDPOINTS.add("GET", "/api/v1/runs/{name}/images/{probe:number}", response=Content(PNG_TYPE))
async def image(service: Service, name: str, probe: int) -> Response:
    """The image of a probe as the model gets it."""
    square = await _read(_find_run(service, name).image, probe)
    return Response(encode_png(square.transpose(1, 2, 0)), media_type=PNG_TYPE)


def _runs(service: Service) -> list[tuple[ServedModel, Run]]:
    return [(one, Run(one.name, one.run)) for one in service.models.all if one.run is not None]


def _find_run(service: Service, name: str) -> Run:
    for _, run in _runs(service):
        if run.name == name:
            return run
    raise ApiError(404, "no_run", "There is no run of that name. GET /api/v1/runs lists them.")


async def _read(read: Callable[..., Result], *arguments: object) -> Result:
    """The result of reading files of a run in a thread; 404 if they do not exist or are damaged."""
    try:
        return await asyncio.to_thread(read, *arguments)
    except RegardError as error:
        raise ApiError(404, "no_probe", str(error)) from None


# --- the evaluation report ---


@ENDPOINTS.add("GET", "/api/v1/evaluation")
async def evaluation(service: Service, query: EvaluationQuery) -> EvaluationResponse | None:
    """The figures of the models on a test set; null without a report."""
    return service.component(EvaluationReports).find(query.model).figures()


@ENDPOINTS.add("GET", "/api/v1/evaluation/{bucket:number}")
async def evaluation_bucket(service: Service, bucket: int, query: EvaluationQuery) -> ComparedSentences:
    """Sentences of one length bucket, with the output of each model."""
    return service.component(EvaluationReports).find(query.model).sentences(bucket)


class EvaluationReportFile:
    """A report of `regard compare --report FILE`, read again whenever the file changes."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._report: EvaluationReport | None = None
        self._read_at = 0
        if path is not None and not path.parent.is_dir():
            raise RegardError(f"{path.parent} is not a directory. --report takes a file of regard compare.")
        self._refresh()

    def figures(self) -> EvaluationResponse | None:
        """The figures; None if there is no report."""
        report = self._refresh()
        if report is None:
            return None
        models = [msgspec.structs.replace(one, outputs=[], truncated=[]) for one in report.models]
        size = TestSetSize(models[0].sentences, has_sentences=bool(report.sources))
        return EvaluationResponse(test=size, models=models)

    def has_model(self, name: str) -> bool:
        """Whether the report has figures of this model."""
        report = self._refresh()
        return report is not None and any(one.model == name for one in report.models)

    def sentences(self, bucket: int) -> ComparedSentences:
        """The first sentences of a length bucket, counted from 0 as in the figures."""
        report = self._refresh()
        if report is None:
            raise ApiError(404, "no_report", "There is no evaluation report. Start the server with --report FILE.")
        lengths = report.models[0].lengths
        if bucket >= len(lengths):
            raise ApiError(404, "no_bucket", f"There are {len(lengths)} length buckets, counted from 0.")
        low, high = lengths[bucket].low, lengths[bucket].high
        members = [i for i, source in enumerate(report.sources) if low <= max(len(source.split()), 1) <= high]
        return ComparedSentences(
            [
                ComparedSentence(
                    source=report.sources[index],
                    reference=report.references[index],
                    outputs={one.model: one.outputs[index] for one in report.models if one.outputs},
                )
                for index in members[:MAX_SHOWN_SENTENCES]
            ]
        )

    def _refresh(self) -> EvaluationReport | None:
        if self._path is None or not self._path.exists():
            return self._report
        written_at = self._path.stat().st_mtime_ns
        if written_at != self._read_at:
            self._report, self._read_at = EvaluationReport.read(self._path), written_at
        return self._report


class EvaluationReports:
    """The report that was given, and that of the models that come with regard if they are served."""

    def __init__(self, given: Path | None, shipped: Path | None = None) -> None:
        self._given, self._shipped = EvaluationReportFile(given), EvaluationReportFile(shipped)

    def find(self, model: str | None) -> EvaluationReportFile:
        """The shipped report for its own models, or if none was given and no model is named; else the given one."""
        is_shipped = self._given.figures() is None if not model else self._shipped.has_model(model)
        return self._shipped if is_shipped else self._given


# --- example sentences and gold alignments ---


# The worked example of the docs and of the page.
WORKED_EXAMPLE = ExampleSentence(
    source="AI changes the world", target="AI가 세상을 바꾼다", links=[(0, 0), (1, 2), (3, 1)]
)
WORKED_EXAMPLE_REVERSED = ExampleSentence(
    source=WORKED_EXAMPLE.target,
    target=WORKED_EXAMPLE.source,
    links=[(target, source) for source, target in WORKED_EXAMPLE.links or []],
)
BUILT_IN_EXAMPLES = {("en", "ko"): [WORKED_EXAMPLE], ("ko", "en"): [WORKED_EXAMPLE_REVERSED]}
PROMPTS: dict[Task, list[str]] = {  # for the language models and the classifier that come with regard
    "text-generation": ["AI가", "유나는 도서관에서", "비가 오면", "가난한 소방관이"],
    "fill-mask": ["가수 열두 ___ 간호사를 부른다", "눈이 ___ 때 지민은 소를 싫어한다", "그는 양파를 먹을 ___"],
    "classification": [  # the same words in another order
        "The nurse helped the boy",
        "The boy helped the nurse",
        "Must the girl wait for the doctor?",
        "The lazy student will invite the teacher when the man is sick",
    ],
}


@ENDPOINTS.add("GET", "/api/v1/examples")
async def examples(service: Service, query: ExamplesQuery) -> ExampleSentencesResponse:
    """Sentences to try."""
    languages = (query.source, query.target)  # only those of a model: a language is also part of a file name
    if languages in {one.languages for one in service.models.all}:
        gold = await asyncio.to_thread(service.component(GoldFiles).examples, languages, query.limit)
        if gold:
            return ExampleSentencesResponse(gold)
    for model in service.models.all:
        if model.name == query.model and model.task in PROMPTS and is_pretrained(model.directory):
            prompts = [ExampleSentence(source=text, target="", links=None) for text in PROMPTS[model.task]]
            return ExampleSentencesResponse(prompts)
    for model, run in _runs(service):
        is_suitable = model.languages == languages and model.task != "image-to-text"
        if is_suitable and query.model in (None, model.name):
            logged = (await asyncio.to_thread(run.events, 0)).events
            samples = [event.get("samples", []) for event in logged if event.get("event") == "validation"]
            if samples and samples[-1]:
                pairs = sorted(samples[-1], key=lambda sample: len(sample[0]))  # the shortest first
                found = [ExampleSentence(source=source, target=target, links=None) for source, target, *_ in pairs]
                return ExampleSentencesResponse(found[: query.limit])
    return ExampleSentencesResponse([])


@dataclass(frozen=True)
class GoldAlignments:
    """Sentence pairs with their gold alignments."""

    sources: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    links: list[GoldAlignment] = field(default_factory=list)

    def examples(self, limit: int) -> list[ExampleSentence]:
        """At most so many short ones, evenly spread."""
        pairs = [
            ExampleSentence(source=source, target=target, links=sorted(links.sure))
            for source, target, links in zip(self.sources, self.targets, self.links, strict=True)
        ]
        short = [one for one in pairs if 2 < len(one.source.split()) <= MAX_EXAMPLE_WORDS]
        return short[:: max(1, len(short) // limit)][:limit]

    def first_sentences(self) -> "GoldAlignments":
        """As many as heads are measured on."""
        return GoldAlignments(
            self.sources[:MAX_SCORED_SENTENCES], self.targets[:MAX_SCORED_SENTENCES], self.links[:MAX_SCORED_SENTENCES]
        )


class GoldFiles:
    """The files at each prefix: sentences in PREFIX.en, PREFIX.ko and so on, and their alignments in PREFIX.align.

    The alignments may be those of either direction: the one in which every link is within its sentences.
    """

    def __init__(self, *prefixes: Path) -> None:
        self.prefixes = prefixes
        for prefix in prefixes:
            if not prefix.parent.is_dir():
                raise RegardError(
                    f"{prefix.parent} does not exist. --gold takes the part of the path before .en, .ko and .align."
                )

    def load(self, languages: tuple[str, str]) -> GoldAlignments:
        """The pairs for a direction, from the first prefix that has them; empty if there are no files for it."""
        for prefix in self.prefixes if all(languages) else ():
            paths = [prefix.with_name(f"{prefix.name}.{suffix}") for suffix in (*languages, "align")]
            if all(path.exists() for path in paths):
                return self._read(prefix, paths)
        return GoldAlignments()

    def _read(self, prefix: Path, paths: list[Path]) -> GoldAlignments:
        sources, targets, lines = (list(read_lines(path)) for path in paths)
        links = list(parse_alignments(lines, origin=str(paths[2])))
        if not len(sources) == len(targets) == len(links):
            raise RegardError(
                f"{prefix} has {len(sources)} sources, {len(targets)} targets and {len(links)} alignments. "
                "Give equally many of each."
            )
        sizes = [(len(source.split()), len(target.split())) for source, target in zip(sources, targets, strict=True)]
        for candidate in (links, [one.reversed() for one in links]):
            if all(one.fits(*size) for one, size in zip(candidate, sizes, strict=True)):
                return GoldAlignments(sources, targets, candidate)
        raise RegardError(f"{paths[2]} links words that its sentences do not have. Give the links of these sentences.")

    def examples(self, languages: tuple[str, str], limit: int = DEFAULT_EXAMPLES) -> list[ExampleSentence]:
        """Sentences to try; the worked example is first if all of its words occur."""
        gold = self.load(languages)
        known = {word for source in gold.sources for word in source.split()}
        worked = [one for one in BUILT_IN_EXAMPLES.get(languages, []) if known.issuperset(one.source.split())]
        return [*worked, *gold.examples(limit)]
