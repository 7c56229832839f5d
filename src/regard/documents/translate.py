"""Translate documents: segments to sentences, sentences in batches to a translator, and the document again."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from regard.documents.markup_projection import AlignedRange, AlignedText, CharacterRange, project_markup
from regard.documents.sentences import FULL_WIDTH_ENDS, TextPart, as_one_sentence, split_long_sentence, split_sentences
from regard.documents.template import Segment, Template, has_letters
from regard.inference.translator import Translation
from regard.tokenization.text import WORD

Result = TypeVar("Result")
MAX_CHARACTERS_WITHOUT_THREAD = 20_000  # split and joined without a thread, in a few milliseconds
_LAST_MARK = re.compile(r"([.!?…]{1,3})\Z")
Sentence = tuple[str, bool]  # its text, and whether its words must be aligned
SentenceTranslations = dict[Sentence, list[Translation]]


@dataclass(frozen=True)
class SentenceTranslator:
    """A translator of sentences: the translations of each, the best first, with alignments on request."""

    translate: Callable[[list[str], bool], Awaitable[list[list[Translation]]]]
    fits: Callable[[str], bool]  # whether the sentence is within the maximum length of the model
    batch_size: Callable[[str], int]  # how many sentences of this length to translate at once


@dataclass(frozen=True)
class SplitSegment:
    """A segment as parts: sentences to translate, and white space. Without letters it has no parts."""

    segment: Segment
    parts: list[TextPart]

    @classmethod
    def split(cls, segment: Segment, fits: Callable[[str], bool]) -> "SplitSegment":
        """Split a segment into sentences that fit the model."""
        if not has_letters(segment.text):
            return cls(segment, [])
        if segment.keep_whole and fits(segment.text):
            return cls(segment, as_one_sentence(segment.text))
        parts: list[TextPart] = []
        for part in split_sentences(segment.text, break_at_newlines=segment.break_at_newlines):
            parts += split_long_sentence(part.text, fits) if part.is_sentence else [part]
        return cls(segment, [TextPart(part.text, part.is_sentence and has_letters(part.text)) for part in parts])

    @property
    def sentences(self) -> list[Sentence]:
        """The sentences to translate."""
        return [self.key(part) for part in self.parts if part.is_sentence]

    def key(self, part: TextPart) -> Sentence:
        """The sentence with single spaces, and whether it needs an alignment; equal sentences are translated once."""
        return " ".join(part.text.split()), bool(self.segment.spans)


async def translate(
    templates: Sequence[Template],
    translator: SentenceTranslator,
    *,
    progress: Callable[[int, int], object] | None = None,
) -> list[list[str]]:
    """For each document its translations: of the best outputs of its sentences, of the second-best, and so on."""
    segments, translations = await _translate_sentences(templates, translator, progress)
    return await _run_in_thread_if_long(
        templates, lambda: [_render_documents(template, segments, translations) for template in templates]
    )


async def translate_joined(templates: Sequence[Template], translator: SentenceTranslator) -> list[Translation]:
    """For each document its best translation as one output; its score is the mean of those of its sentences."""
    segments, translations = await _translate_sentences(templates, translator)
    return await _run_in_thread_if_long(
        templates, lambda: [_join_outputs(template, segments, translations) for template in templates]
    )


async def _translate_sentences(
    templates: Sequence[Template], translator: SentenceTranslator, progress: Callable[[int, int], object] | None = None
) -> tuple[dict[int, SplitSegment], SentenceTranslations]:
    """The segments as parts, by their identities, and the translations of each sentence."""
    segments, batches = await _run_in_thread_if_long(templates, lambda: _split_all(templates, translator))
    translations: SentenceTranslations = {}
    every = sum(map(len, batches))
    for batch in batches:
        outputs = await translator.translate([sentence for sentence, _ in batch], batch[0][1])
        translations |= dict(zip(batch, outputs, strict=True))
        if progress is not None:
            progress(len(translations), every)
    return segments, translations


async def _run_in_thread_if_long(templates: Sequence[Template], function: Callable[[], Result]) -> Result:
    """The result of the function; for long texts in a thread, so that the event loop stays free."""
    is_large = sum(len(segment.text) for segment in _segments(templates)) > MAX_CHARACTERS_WITHOUT_THREAD
    return await asyncio.to_thread(function) if is_large else function()


def _segments(templates: Sequence[Template]) -> Iterator[Segment]:
    return (piece for template in templates for piece in template if isinstance(piece, Segment))


def _split_all(
    templates: Sequence[Template], translator: SentenceTranslator
) -> tuple[dict[int, SplitSegment], list[list[Sentence]]]:
    """Every segment as parts, by its identity, and every sentence once, in batches."""
    segments = {id(segment): SplitSegment.split(segment, translator.fits) for segment in _segments(templates)}
    wanted = list(dict.fromkeys(sentence for split in segments.values() for sentence in split.sentences))
    return segments, list(_batches(wanted, translator))


def _batches(wanted: list[Sentence], translator: SentenceTranslator) -> Iterator[list[Sentence]]:
    """Batches of sentences, the longest first, those with alignment apart from the others.

    Larger batches would only fill the queue and keep the sentences of other clients out.
    """
    for is_aligned in (False, True):
        sizes = {one: translator.batch_size(one[0]) for one in wanted if one[1] is is_aligned}
        own, start = sorted(sizes, key=sizes.__getitem__), 0
        while start < len(own):
            end = start + sizes[own[start]]
            yield own[start:end]
            start = end


def _render_documents(
    template: Template, segments: dict[int, SplitSegment], translations: SentenceTranslations
) -> list[str]:
    own = [translations[sentence] for segment in _segments([template]) for sentence in segments[id(segment)].sentences]
    choices = max(map(len, own), default=1)
    return [
        "".join(
            piece if isinstance(piece, str) else _render_segment(segments[id(piece)], translations, choice)
            for piece in template
        )
        for choice in range(choices)
    ]


def _join_outputs(
    template: Template, segments: dict[int, SplitSegment], translations: SentenceTranslations
) -> Translation:
    """Sentences are translated independently, so their log-probabilities add up."""
    own = [
        translations[sentence][0] for segment in _segments([template]) for sentence in segments[id(segment)].sentences
    ]
    return Translation(
        text=_render_documents(template, segments, translations)[0],
        score=sum(one.score for one in own) / max(1, len(own)),
        log_probability=sum(one.log_probability for one in own),
        tokens=[token for one in own for token in one.tokens],
        is_finished=all(one.is_finished for one in own),
    )


def _render_segment(split: SplitSegment, translations: SentenceTranslations, choice: int) -> str:
    """The translated segment: its sentences joined, and its markup around the aligned words."""
    if not split.parts:
        return split.segment.raw
    texts: list[str] = []
    parts, words, guesses = [], [], []
    position = length = 0
    for index, part in enumerate(split.parts):
        text = part.text
        if part.is_sentence:
            outputs = translations[split.key(part)]
            output = _with_final_mark_of(part.text, outputs[min(choice, len(outputs) - 1)])
            text = output.text + _space_after(split.parts, index, output.text)
            sure, guessed = _word_links(part.text, output) if split.segment.spans else ([], [])
            words += [_shift_range(link, position, length) for link in sure]
            guesses += [_shift_range(link, position, length) for link in guessed]
        parts.append(_shift_range(AlignedRange((0, len(part.text)), (0, len(text))), position, length))
        position, length = position + len(part.text), length + len(text)
        texts.append(text)
    segment, output_text = split.segment, "".join(texts)
    if not segment.spans:
        return segment.serialize(segment.escape(output_text))
    aligned = AlignedText(segment.text, output_text, parts, words, guesses)
    return segment.serialize(project_markup(segment.spans, aligned, segment.escape))


def _with_final_mark_of(sentence: str, output: Translation) -> Translation:
    """The output with the final mark of the sentence; without a full stop if the sentence has no mark, as a title.

    Without a mark, readers could not separate the sentences of a paragraph.
    """
    mark, text = _LAST_MARK.search(sentence), output.text
    if mark and text[-1:].isalnum() and mark[1] not in text:
        text += mark[1]
    elif sentence[-1:].isalnum() and text[-2:-1].isalnum():
        text = text.removesuffix(".")
    return replace(output, text=text)


def _space_after(parts: list[TextPart], index: int, translation: str) -> str:
    """A space between sentences that had none, as in Chinese or Japanese; other languages write one."""
    touches = index + 1 < len(parts) and parts[index + 1].is_sentence and parts[index].text[-1] in FULL_WIDTH_ENDS
    return " " if touches and translation[-1:] not in FULL_WIDTH_ENDS else ""


def _shift_range(link: AlignedRange, source: int, target: int) -> AlignedRange:
    return AlignedRange(
        (link.source[0] + source, link.source[1] + source), (link.target[0] + target, link.target[1] + target)
    )


def _word_links(sentence: str, output: Translation) -> tuple[list[AlignedRange], list[AlignedRange]]:
    """Source words with the range of the target words that attend to them most; and each with its single best word.

    Without an alignment, a word belongs to the one at the same relative position.
    """
    sources, targets = _word_ranges(sentence), _word_ranges(output.text)
    if not sources or not targets:
        return [], []
    if output.alignment is None or output.alignment.weights.shape != (len(targets), len(sources)):
        along = [
            AlignedRange(source, targets[index * len(targets) // len(sources)]) for index, source in enumerate(sources)
        ]
        return along, along
    weights = output.alignment.weights
    hulls: dict[int, CharacterRange] = {}
    for target, source in zip(targets, weights.argmax(axis=1).tolist(), strict=True):
        hulls[source] = (hulls.get(source, target)[0], target[1])
    guessed = weights.argmax(axis=0).tolist()
    return (
        [AlignedRange(sources[source], hulls[source]) for source in sorted(hulls)],
        [AlignedRange(source, targets[index]) for source, index in zip(sources, guessed, strict=True)],
    )


def _word_ranges(text: str) -> list[CharacterRange]:
    return [match.span() for match in WORD.finditer(text)]
