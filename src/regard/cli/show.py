"""`regard show`: the attention of a model as a map in the terminal, an image, or a page; a run's training as a page."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from regard.cli.console import echo, make_console, warn
from regard.cli.inputs import check_outputs
from regard.cli.options import PATH, beam_option
from regard.config import decode_options
from regard.errors import RegardError
from regard.special_tokens import UNKNOWN
from regard.training.events import EVENT_LOG

if TYPE_CHECKING:
    from torch import nn

    from regard.config import DecodeOptions
    from regard.inference.captioner import Captioner
    from regard.inference.classifier import Classifier
    from regard.inference.mask_filler import MaskFiller
    from regard.inference.text_generator import TextGenerator
    from regard.inference.traced_caption import TracedCaption
    from regard.inference.translator import Translator
    from regard.models.interface import AttentionRole
    from regard.plotting.attention_map import AttentionMap, MapSelection
    from regard.tracing.trace import Trace

ROLES = ["cross", "encoder-self", "decoder-self", "image-cross", "image-self"]
SELF_ATTENTION_ROLES = ("image-self", "decoder-self")  # of a captioner: drawn as one map, like a translator's
PANEL_PIXELS = 264  # size of a drawn image: sharper than the pixels that the model reads


def _check_ablated(_context: click.Context, _option: click.Parameter, heads: tuple[str, ...]) -> tuple[str, ...]:
    for head in heads:
        if not re.fullmatch(rf"((?:{'|'.join(ROLES)})\.)?[1-9]\d*\.[1-9]\d*", head):
            raise click.BadParameter(f"{head!r} is not a layer and a head, counted from 1, such as 2.1 or cross.2.1.")
    return heads


@click.command(
    name="show",
    epilog="""\b
Examples:
  regard show runs/x/model "AI changes the world"
  regard show runs/x/model "AI changes the world" --layer 2 --head 1 --out map.svg
  regard show runs/x/model "AI changes the world" --out page.html
  regard show runs/x/model "AI changes the world" "I read a book" --out class.html
  regard show runs/x/model "AI changes the world" --ablate 2.1 --out experiment.html
  regard show runs/x/model "AI changes the world" --intervene without.scaling
  regard show runs/captioner/model image.png --out words.svg
  regard show runs/captioner/model *.jpg --out sheet.png
  regard show --run runs/x --out training.html""",
)
@click.argument("model", type=PATH, required=False)
@click.argument("inputs", nargs=-1, metavar="[SENTENCE|IMAGE...]")
@click.option(
    "--run", type=PATH, metavar="RUN", help="Show the training of a run instead, as a page of curves and maps."
)
@click.option("--target", metavar="TEXT", help="Show the attention for this translation or caption.")
@click.option("--role", type=click.Choice(ROLES), help="Which attention. [default: the model's last, such as cross]")
@click.option("--layer", type=click.IntRange(1), help="Layer to show, counted from 1. [default: the mean of all]")
@click.option("--head", type=click.IntRange(1), help="Head to show, counted from 1. [default: the mean of all]")
@click.option(
    "--at",
    type=click.Choice(["output", "input"]),
    default="output",
    show_default=True,
    help="Cross-attention of the decoder step whose output, or whose input, is the target word.",
)
@click.option("--subwords", is_flag=True, help="Show subword tokens instead of words.")
@beam_option
@click.option(
    "--ablate",
    multiple=True,
    metavar="[ROLE.]LAYER.HEAD",
    callback=_check_ablated,
    help="Show the model without a head, such as 2.1 or encoder-self.1.3, and the output before and after.",
)
@click.option(
    "--intervene",
    "interventions",
    multiple=True,
    metavar="CHANGE",
    help="Show the model with a change, such as hide.source.3, cross.*.*@2>4 or without.positions; docs/what-if.md "
    "lists all of them.",
)
@click.option(
    "--out", type=PATH, metavar="FILE", help="FILE.svg, FILE.png, FILE.pdf, or FILE.html with all layers and heads."
)
def command(model: Path | None, inputs: tuple[str, ...], run: Path | None, out: Path | None, **options: object) -> None:
    """Show the attention of MODEL while it translates SENTENCE: as a map in the terminal, an image, or a page.

    Several sentences go into one page, in which the reader chooses one.

    For a decoder-only or encoder-only model, show the self-attention between the words of SENTENCE.

    For a captioner, show the attention of each word to the IMAGE; several images are drawn on one sheet.

    A page is one HTML file with every layer, head and number; it works from a disk, without a network. With --run it
    shows the training of a run: the losses, sample outputs, and the attention while it formed.
    """
    if run is not None:
        others = ["MODEL"] * (model is not None)
        others += [
            f"--{name.replace('_size', '')}"
            for name, value in options.items()
            if value not in (None, False, "output", ())
        ]
        _show_run(run, out, others)
        return
    from regard.inference.open import load
    from regard.plotting.figure_files import forbid_selection_for_html

    if model is None or not inputs:
        raise click.UsageError("Give a MODEL and a SENTENCE or IMAGE, or --run with a run.")
    chosen = ShowOptions(out=out, **options)  # type: ignore[arg-type]
    has_selection = chosen.role or chosen.layer or chosen.head or chosen.subwords or chosen.at == "input"
    if chosen.suffix == ".html" and has_selection:
        forbid_selection_for_html("--role, --layer, --head, --subwords and --at input")
    opened = load(model, engine="torch")
    if opened.task == "image-to-text":
        shown = _show_images(opened, [Path(name) for name in inputs], chosen)
    elif opened.task == "classification" and opened.reads_images:
        shown = _show_classified_images(opened, [Path(name) for name in inputs], chosen)
    else:
        shown = _show_sentence(opened, inputs, chosen)
    if out is not None:
        echo(f"{out} shows: {shown}", to_error=True)


@dataclass(frozen=True, kw_only=True)
class ShowOptions:
    """Which map to show, of which output, and in which file."""

    out: Path | None  # None: the terminal
    target: str | None
    role: AttentionRole | None
    layer: int | None  # counted from 1, as are heads
    head: int | None
    at: Literal["output", "input"]
    subwords: bool
    beam_size: int | None
    ablate: tuple[str, ...]
    interventions: tuple[str, ...]

    @property
    def suffix(self) -> str:
        """The format of the output file; empty for the terminal."""
        from regard.plotting.figure_files import file_suffix

        return "" if self.out is None else file_suffix(self.out)

    @property
    def search(self) -> DecodeOptions:
        """The options of the search."""
        return decode_options(beam_size=self.beam_size)

    def changes(self, model: nn.Module) -> list[str]:
        """The interventions; a head without a role is one of the model's last attention, such as cross."""
        from regard.tracing.model_parts import ModelParts

        roles = [part.role for part in ModelParts(model).attentions] or ["cross"]
        heads = [head if head.count(".") == 2 else f"{roles[-1]}.{head}" for head in self.ablate]
        return [*(f"{head}=zero" for head in heads), *self.interventions]

    def selection(self, default_role: AttentionRole) -> MapSelection:
        """The selected map."""
        from regard.plotting.attention_map import MapSelection

        layer, head = (None if number is None else number - 1 for number in (self.layer, self.head))
        return MapSelection(self.role or default_role, layer, head, self.at, "pieces" if self.subwords else "words")

    def write(self, content: bytes) -> None:
        """Write the output file, complete or not at all."""
        from regard.plotting.figure_files import write_file

        assert self.out is not None  # noqa: S101  (for the type checker)
        write_file(self.out, content)


# --- texts


def _show_sentence(
    model: Translator | TextGenerator | MaskFiller | Classifier, inputs: tuple[str, ...], options: ShowOptions
) -> str:
    from regard.plotting.attention_map import select_map
    from regard.plotting.html_data import Experiment
    from regard.plotting.save import require_attention, trace_html
    from regard.tracing.interventions import intervene

    if not all(text.strip() for text in inputs):
        raise RegardError("the sentence is empty. Give a sentence with words.")
    if len(inputs) > 1:
        return _show_sentences(model, inputs, options)
    [text] = inputs
    before = None
    if model.task == "translation":
        changes = options.changes(model.require_bundle("interventions").model)
        trace = model.trace(text, options.target, **options.search)
    else:
        unfit = {"--target": options.target, "--beam": options.beam_size}
        names = [name for name, value in unfit.items() if value is not None]
        if names:
            raise RegardError(
                f"{', '.join(names)} is for translators and captioners; {model.name} is for {model.task}. Remove it."
            )
        changes = options.changes(model.bundle.model)
        trace = model.trace(text)
    if changes:
        before = trace
        with intervene(model, *changes, sample=[text]):
            after = model.trace(text, options.target, **options.search) if model.task == "translation" else None
            trace = after or model.trace(text)
        _report_changes(changes, [before], [trace])
    require_attention(trace)
    if options.suffix == ".html":
        experiment = None if before is None else Experiment(changes, before)
        options.write(trace_html(trace, name=model.name, languages=model.languages, experiment=experiment))
    else:
        _draw_map(select_map(trace, options.selection(trace.layers[-1].role)), options)
    return trace.text


def _show_sentences(
    model: Translator | TextGenerator | MaskFiller | Classifier, texts: tuple[str, ...], options: ShowOptions
) -> str:
    """Several sentences in one page."""
    from regard.plotting.save import require_attention, traces_html

    if options.suffix != ".html" or options.target is not None or options.ablate or options.interventions:
        raise RegardError(
            f"{len(texts)} texts were given; only a page shows several, without --target, --ablate and --intervene. "
            "Give --out FILE.html, or one text in quotation marks."
        )
    if model.task == "translation":
        traces = [model.trace(text, **options.search) for text in texts]
    else:
        traces = [model.trace(text) for text in texts]
    require_attention(traces[0])
    options.write(traces_html(traces, name=model.name, languages=model.languages))
    return "; ".join(trace.text for trace in traces)


def _draw_map(drawn: AttentionMap, options: ShowOptions) -> None:
    from regard.plotting.save import render_map
    from regard.plotting.terminal import print_map

    if options.suffix:
        options.write(render_map(drawn, options.suffix))
    else:
        print_map(make_console(), drawn)


def _report_changes(changes: list[str], before: list[Trace], after: list[Trace]) -> None:
    """Each output before and after the interventions, with its log-probability."""
    from regard.interventions import read_interventions
    from regard.tracing.interventions import check_positions

    for old, new in zip(before, after, strict=True):
        check_positions(read_interventions(changes), new)
        for name, one in (("before", old), ("after", new)):
            score = f"  (log-probability {sum(one.log_probabilities):.2f})" if one.log_probabilities else ""
            echo(f"{name}: {one.text}{score}", to_error=True)


# --- images


def _show_images(captioner: Captioner, images: list[Path], options: ShowOptions) -> str:
    """Describe the images and show the attention of each word; returns the captions."""
    from regard.data.images import load_image
    from regard.plotting.attention_map import select_map
    from regard.plotting.html_data import caption_page_data
    from regard.plotting.save import render_image_maps, trace_image_maps
    from regard.plotting.terminal import print_image_maps
    from regard.tracing.interventions import intervene
    from regard.web.pages import render_html_file

    _check_image_options(options, len(images))
    check_outputs({"--out": options.out}, images)
    traced = [_caption_with_trace(captioner, image, options) for image in images]
    if changes := options.changes(captioner.bundle.model):
        before, sample = traced, [(captioner.to_batch([one.image]), one.caption.tokens) for one in traced]
        with intervene(captioner, *changes, sample=sample):
            traced = [_caption_with_trace(captioner, image, options) for image in images]
        _report_changes(changes, [one.trace for one in before], [one.trace for one in traced])
    if options.suffix == ".html":
        data = caption_page_data(traced, name=captioner.name, language=captioner.languages[1])
        options.write(render_html_file(data, title=f"{traced[0].trace.text} · regard").encode())
    elif options.role in SELF_ATTENTION_ROLES:
        _draw_map(select_map(traced[0].trace, options.selection("image-cross")), options)
    else:
        maps = []
        for path, one in zip(images, traced, strict=True):
            boxes = one.gold.boxes if one.gold is not None and one.gold.words == one.trace.target.words[1:] else ()
            drawn = load_image(path, size=max(PANEL_PIXELS, len(one.image[0])))
            maps.append(trace_image_maps(one.trace, options.selection("image-cross"), drawn, boxes))
        if options.suffix:
            options.write(render_image_maps(maps, options.suffix))
        else:
            for panels in maps:
                print_image_maps(make_console(), panels)
    return "; ".join(one.trace.text for one in traced)


def _check_image_options(options: ShowOptions, images: int) -> None:
    if options.role not in (None, "image-cross", *SELF_ATTENTION_ROLES):
        raise RegardError(
            f"--role {options.role} is for translators, but this model describes images. Give image-cross, "
            f"{' or '.join(SELF_ATTENTION_ROLES)}, or remove it."
        )
    if options.role in SELF_ATTENTION_ROLES and images > 1:
        raise RegardError(f"--role {options.role} shows one image at a time, but {images} were given. Give one image.")
    if options.subwords and options.role not in SELF_ATTENTION_ROLES:
        raise RegardError("--subwords is for translators, but this model describes images. Remove it.")
    if options.at == "input":
        raise RegardError("--at input is for translators, but this model describes images. Remove it.")
    if options.target is not None and images > 1:
        raise RegardError(f"--target is one caption, but there are {images} images. Give one image.")
    if options.target is not None and not options.target.strip():
        raise RegardError("--target is empty. Give a caption with words.")


def _caption_with_trace(captioner: Captioner, image: Path, options: ShowOptions) -> TracedCaption:
    from regard.inference.captioner import Caption
    from regard.inference.traced_caption import GoldCaption, TracedCaption
    from regard.plotting.attention_map import check_selection
    from regard.plotting.save import require_attention
    from regard.worlds.scenes import boxes_beside

    pixels = captioner.load_image(image)
    if options.target:
        tokens = captioner.tokenizers.target.encode(options.target)
        if UNKNOWN in tokens:
            warn(f"{options.target!r} has words that are not in the model's vocabulary; they are shown as <unk>")
        caption = Caption(options.target, 0.0, 0.0, tokens)
    else:
        [caption] = captioner.caption([pixels], **options.search)
    if not caption.tokens:
        raise RegardError(f"the caption of {image} is empty, so there is no attention to show. Give one with --target.")
    trace = captioner.trace(pixels, caption.tokens)
    require_attention(trace)
    check_selection(trace, options.selection("image-cross"))
    gold = GoldCaption.from_boxes(boxes_beside(image))
    return TracedCaption(pixels, captioner.image_encoder.grid_size, caption, trace, gold)


def _show_classified_images(classifier: Classifier, images: list[Path], options: ShowOptions) -> str:
    """The attention that pools each image into its class; with --role image-self, that between its cells."""
    from regard.data.images import load_image
    from regard.plotting.attention_map import select_map
    from regard.plotting.save import render_image_maps, require_attention, trace_html, trace_image_maps
    from regard.plotting.terminal import print_image_maps
    from regard.tracing.interventions import intervene

    if options.target is not None or options.beam_size is not None:
        raise RegardError(f"--target and --beam are for translators; {classifier.name} classifies. Remove them.")
    check_outputs({"--out": options.out}, images)
    traces = [classifier.trace(image) for image in images]
    if changes := options.changes(classifier.bundle.model):
        before, sample = traces, [(classifier.to_batch([image]), list[int]()) for image in images]
        with intervene(classifier, *changes, sample=sample):
            traces = [classifier.trace(image) for image in images]
        _report_changes(changes, before, traces)
    for trace in traces:
        require_attention(trace)
    role = options.role or traces[0].layers[-1].role
    if options.suffix == ".html" or role != "image-cross":
        if len(images) > 1:
            raise RegardError(f"one image can be shown at a time here, and {len(images)} were given. Give one.")
        if options.suffix == ".html":
            options.write(trace_html(traces[0], name=classifier.name))
        else:
            _draw_map(select_map(traces[0], options.selection(role)), options)
    else:
        size = max(PANEL_PIXELS, classifier.image_encoder.image_size if classifier.image_encoder else 0)
        maps = [
            trace_image_maps(one, options.selection(role), load_image(path, size=size))
            for path, one in zip(images, traces, strict=True)
        ]
        if options.suffix:
            options.write(render_image_maps(maps, options.suffix))
        else:
            for panels in maps:
                print_image_maps(make_console(), panels)
    return "; ".join(one.text for one in traces)


# --- runs


def _show_run(directory: Path, out: Path | None, others: list[str]) -> None:
    """Write the training of a run as one page."""
    from regard.plotting.figure_files import write_file
    from regard.plotting.run_data import RunData, run_page_data
    from regard.training.runs import Run
    from regard.web.pages import render_html_file

    if others:
        raise RegardError(f"--run shows a whole run, but {', '.join(others)} was given too. Remove it.")
    if out is None or out.suffix.lower() != ".html":
        raise RegardError("a run is shown as a page. Name it with --out, such as --out training.html.")
    if not (directory / EVENT_LOG).is_file():
        raise RegardError(
            f"{directory} has no {EVENT_LOG}, so no training has started there. Give the directory of a run."
        )
    run = RunData.from_run(Run(Path(os.path.realpath(directory)).name, directory))
    data = run_page_data(run)
    write_file(out, render_html_file(data, title=f"{run.record['name']} · regard").encode())
    note = ""
    if omitted := data["run"]["omitted"]:
        shown = "{steps} of {of_steps} steps, {probes} of {of_probes} probes".format(**omitted)
        note = f" ({shown}, weights rounded, to keep the file small)"
    echo(f"{out} shows: the training of {run.record['name']}{note}", to_error=True)
