"""Documents through a model: blocks are split into sentences, these are said in batches, and all is put back."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from regard.serve.documents.blocks import Block, Template, has_words
from regard.serve.documents.dividing import divide_until
from regard.serve.documents.sentences import WIDE_ENDS, Part, one_sentence, split_sentences
from regard.serve.documents.weaving import Link, Range, Woven, weave
from regard.tokens.text import WORD
from regard.translation.lines import Translation

Result = TypeVar("Result")
AT_ONCE = 20_000  # characters that are split and put together without a thread: a few milliseconds
_LAST_MARK = re.compile(r"([.!?…]{1,3})\Z")
Sentence = tuple[str, bool]  # its text, and whether its words must be aligned
Said = dict[Sentence, list[Translation]]


@dataclass(frozen=True)
class Voice:
    """What says sentences in another language: the outputs of each, the best first, with alignments if asked for."""

    say: Callable[[list[str], bool], Awaitable[list[list[Translation]]]]
    fits: Callable[[str], bool]  # whether the model can read the whole sentence
    together: Callable[[str], int]  # how many sentences as long as this one it says at once


@dataclass(frozen=True)
class _Cut:
    """A block as parts; the sentences among them are what is said."""

    block: Block
    parts: list[Part]

    @property
    def sentences(self) -> list[Sentence]:
        """What is to be said."""
        return [self.key(part) for part in self.parts if part.is_sentence]

    def key(self, part: Part) -> Sentence:
        """A sentence with single spaces, as a model reads it: the same one is said only once."""
        return " ".join(part.text.split()), bool(self.block.spans)


async def translate(
    templates: Sequence[Template],
    voice: Voice,
    *,
    progress: Callable[[int, int], object] | None = None,
) -> list[list[str]]:
    """For each document its translations: the best, one of the sentences' second-best outputs, and so on."""
    cuts, said = await _say_all(templates, voice, progress)
    return await _aside(templates, lambda: [_documents(template, cuts, said) for template in templates])


async def translate_as_one(templates: Sequence[Template], voice: Voice) -> list[Translation]:
    """For each document its best translation as one output, scored by the mean of its sentences' scores."""
    cuts, said = await _say_all(templates, voice)
    return await _aside(templates, lambda: [_as_one(template, cuts, said) for template in templates])


async def _say_all(
    templates: Sequence[Template], voice: Voice, progress: Callable[[int, int], object] | None = None
) -> tuple[dict[int, _Cut], Said]:
    """The blocks as parts, by their identities, and what was said for each sentence."""
    cuts, batches = await _aside(templates, lambda: _cut_all(templates, voice))
    said: Said = {}
    every = sum(map(len, batches))
    for batch in batches:
        outputs = await voice.say([sentence for sentence, _ in batch], batch[0][1])
        said |= dict(zip(batch, outputs, strict=True))
        if progress is not None:
            progress(len(said), every)
    return cuts, said


async def _aside(templates: Sequence[Template], function: Callable[[], Result]) -> Result:
    """The function's result; that of much text is made in a thread, so that other requests need not wait for it."""
    is_large = sum(len(block.text) for block in _blocks(templates)) > AT_ONCE
    return await asyncio.to_thread(function) if is_large else function()


def _blocks(templates: Sequence[Template]) -> Iterator[Block]:
    return (piece for template in templates for piece in template if isinstance(piece, Block))


def _cut_all(templates: Sequence[Template], voice: Voice) -> tuple[dict[int, _Cut], list[list[Sentence]]]:
    """Every block as parts, by its identity, and every sentence once, in batches."""
    cuts = {id(block): _cut(block, voice) for block in _blocks(templates)}
    wanted = list(dict.fromkeys(sentence for cut in cuts.values() for sentence in cut.sentences))
    return cuts, list(_batches(wanted, voice))


def _cut(block: Block, voice: Voice) -> _Cut:
    if not has_words(block.text):
        return _Cut(block, [])
    if block.is_one and voice.fits(block.text):
        return _Cut(block, one_sentence(block.text))
    parts = split_sentences(block.text, lines_end=block.lines_end)
    pieces = [
        piece for part in parts for piece in (divide_until(part.text, voice.fits) if part.is_sentence else [part])
    ]
    return _Cut(block, [Part(part.text, part.is_sentence and has_words(part.text)) for part in pieces])


def _batches(wanted: list[Sentence], voice: Voice) -> Iterator[list[Sentence]]:
    """As many sentences as are said at once, the longest first, those to be aligned apart from the others.

    More would only wait in the queue, where they would keep other people's sentences out.
    """
    for is_aligned in (False, True):
        sizes = {one: voice.together(one[0]) for one in wanted if one[1] is is_aligned}
        own, start = sorted(sizes, key=sizes.__getitem__), 0
        while start < len(own):
            end = start + sizes[own[start]]
            yield own[start:end]
            start = end


def _documents(template: Template, cuts: dict[int, _Cut], said: Said) -> list[str]:
    own = [said[sentence] for block in _blocks([template]) for sentence in cuts[id(block)].sentences]
    choices = max(map(len, own), default=1)
    return [
        "".join(piece if isinstance(piece, str) else _rendered(cuts[id(piece)], said, choice) for piece in template)
        for choice in range(choices)
    ]


def _as_one(template: Template, cuts: dict[int, _Cut], said: Said) -> Translation:
    """Sentences are said independently of each other, so that their log-probabilities add up."""
    own = [said[sentence][0] for block in _blocks([template]) for sentence in cuts[id(block)].sentences]
    return Translation(
        text=_documents(template, cuts, said)[0],
        score=sum(one.score for one in own) / max(1, len(own)),
        log_probability=sum(one.log_probability for one in own),
        tokens=[token for one in own for token in one.tokens],
        is_ended=all(one.is_ended for one in own),
    )


def _rendered(cut: _Cut, said: Said, choice: int) -> str:
    if not cut.parts:
        return cut.block.raw
    outputs = [said[cut.key(part)] if part.is_sentence else None for part in cut.parts]
    chosen = [own[min(choice, len(own) - 1)] if own else None for own in outputs]
    texts = _joined(cut, chosen)
    return cut.block.finish(weave(cut.block.spans, texts, cut.block.escape))


def _joined(cut: _Cut, chosen: Sequence[Translation | None]) -> Woven:
    """The translated block, and what became what."""
    texts: list[str] = []
    parts, words, guesses = [], [], []
    position = length = 0
    for index, (part, output) in enumerate(zip(cut.parts, chosen, strict=True)):
        text = (
            part.text
            if output is None
            else _ended(part.text, output.text) + _space_after(cut.parts, index, output.text)
        )
        if output is not None and cut.block.spans:
            sure, guessed = _word_links(part.text, output)
            words += [_moved(link, position, length) for link in sure]
            guesses += [_moved(link, position, length) for link in guessed]
        parts.append(_moved(Link((0, len(part.text)), (0, len(text))), position, length))
        position, length = position + len(part.text), length + len(text)
        texts.append(text)
    return Woven(cut.block.text, "".join(texts), parts, words, guesses)


def _ended(sentence: str, said: str) -> str:
    """What was said, with the sentence's own mark at its end if the model has learnt to say none.

    Without it, the sentences of a paragraph could not be told apart.
    """
    mark = _LAST_MARK.search(sentence)
    return said + mark[1] if mark and said[-1:].isalnum() and mark[1] not in said else said


def _space_after(parts: list[Part], index: int, said: str) -> str:
    """A space between sentences that had none, being Chinese or Japanese; other languages write one."""
    touches = index + 1 < len(parts) and parts[index + 1].is_sentence and parts[index].text[-1] in WIDE_ENDS
    return " " if touches and said[-1:] not in WIDE_ENDS else ""


def _moved(link: Link, source: int, target: int) -> Link:
    return Link((link.source[0] + source, link.source[1] + source), (link.target[0] + target, link.target[1] + target))


def _word_links(sentence: str, output: Translation) -> tuple[list[Link], list[Link]]:
    """Source words with the hulls of the target words that look at them most; and each with the one that does so most.

    Without attention that fits, a word belongs to the one as far along in the translation.
    """
    sources, targets = _words(sentence), _words(output.text)
    if not sources or not targets:
        return [], []
    if output.alignment is None or output.alignment.weights.shape != (len(targets), len(sources)):
        along = [Link(source, targets[place * len(targets) // len(sources)]) for place, source in enumerate(sources)]
        return along, along
    weights = output.alignment.weights
    hulls: dict[int, Range] = {}
    for target, source in zip(targets, weights.argmax(axis=1).tolist(), strict=True):
        hulls[source] = (hulls.get(source, target)[0], target[1])
    guessed = weights.argmax(axis=0).tolist()
    return (
        [Link(sources[source], hulls[source]) for source in sorted(hulls)],
        [Link(source, targets[place]) for source, place in zip(sources, guessed, strict=True)],
    )


def _words(text: str) -> list[Range]:
    return [match.span() for match in WORD.finditer(text)]
