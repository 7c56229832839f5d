"""Running `regard show` on pictures: one in large panels, several as one sheet of small ones."""

from pathlib import Path

from regard.captioning.captioner import Caption, Captioner
from regard.cli.running.outputs import check_outputs
from regard.cli.running.show_wish import Sheet, Wish
from regard.cli.running.telling import make_console, warn
from regard.data.pictures import open_picture
from regard.data.worlds.scenes import boxes_beside
from regard.errors import RegardError
from regard.symbols import UNKNOWN
from regard.view.caption_record import Described, GoldCaption
from regard.view.page_file import html_file
from regard.view.picture_page import picture_page_data
from regard.view.regions_plan import Regions
from regard.view.regions_terminal import print_regions
from regard.view.terminal import print_map
from regard.view.trace_files import map_file, refuse_blind, regions_file, regions_of
from regard.view.trace_maps import Map, check_choice, map_of

DRAWN_SIZE = 264  # pixels of a picture that is drawn: sharper than the square that the model sees
MAPPED = ("picture-self", "decoder-self")  # uses without a word to each map: drawn as one, like a translator's


def show_pictures(captioner: Captioner, pictures: list[Path], wish: Wish, sheet: Sheet, *, name: str) -> str:
    """Describe the pictures and show where each word looks; returns what was said."""
    _refuse_what_does_not_fit(wish, len(pictures))
    check_outputs({"--out": sheet.out}, pictures)
    described = [_described(captioner, picture, wish) for picture in pictures]
    if sheet.kind == ".html":
        data = picture_page_data(described, name=name, language=captioner.bundle.languages[1])
        sheet.write(html_file(data, title=f"{described[0].trace.text} · regard").encode())
    elif wish.use in MAPPED:
        draw(map_of(described[0].trace, wish.choice("picture")), sheet)
    else:
        _draw_regions([_regions(path, one, wish) for path, one in zip(pictures, described, strict=True)], sheet)
    return "; ".join(one.trace.text for one in described)


def draw(drawn: Map, sheet: Sheet) -> None:
    """A map into the file, or onto the terminal."""
    if sheet.kind:
        sheet.write(map_file(drawn, sheet.kind, warn))
    else:
        print_map(make_console(), drawn)


def _draw_regions(regions: list[Regions], sheet: Sheet) -> None:
    if sheet.kind:
        sheet.write(regions_file(regions, sheet.kind, warn))
        return
    console = make_console()
    for one in regions:
        print_regions(console, one)


def _described(captioner: Captioner, picture: Path, wish: Wish) -> Described:
    square = captioner.square(picture)
    caption = _forced(captioner, wish.target) if wish.target else captioner.caption([square], **wish.search)[0]
    if not caption.tokens:
        raise RegardError(f"there is nothing to show of {picture}: its caption is empty. Give one with --target.")
    trace = captioner.trace(square, caption.tokens)
    refuse_blind(trace)
    check_choice(trace, wish.choice("picture"))
    return Described(square, captioner.eye.side, caption, trace, GoldCaption.of(boxes_beside(picture)))


def _forced(captioner: Captioner, text: str) -> Caption:
    tokens = captioner.bundle.tokenizers.target.encode(text)
    if UNKNOWN in tokens:
        warn(f"{text!r} has words that the model does not know; they are shown as <unk>")
    return Caption(text, 0.0, 0.0, tokens)


def _regions(picture: Path, described: Described, wish: Wish) -> Regions:
    gold, trace = described.gold, described.trace
    boxes = gold.boxes if gold is not None and gold.words == trace.target.spelled[1:] else ()
    drawn = open_picture(picture, size=max(DRAWN_SIZE, len(described.square[0])))
    return regions_of(trace, wish.choice("picture"), drawn, boxes)


def _refuse_what_does_not_fit(wish: Wish, pictures: int) -> None:
    if wish.use not in (None, "picture", *MAPPED):
        raise RegardError(
            f"--use {wish.use} is for translators, and this model describes pictures. Give picture, "
            f"{' or '.join(MAPPED)}, or leave it away."
        )
    if wish.use in MAPPED and pictures > 1:
        raise RegardError(f"--use {wish.use} shows one picture at a time, and {pictures} were given. Give one.")
    _refuse_options_of_maps(wish)
    if wish.target is not None and pictures > 1:
        raise RegardError(f"--target is one caption, and there are {pictures} pictures. Give one picture.")
    if wish.target is not None and not wish.target.strip():
        raise RegardError("--target is empty. Give a caption with words in it.")


def _refuse_options_of_maps(wish: Wish) -> None:
    for name, is_given in (("--pieces", wish.pieces and wish.use not in MAPPED), ("--when read", wish.when == "read")):
        if is_given:
            raise RegardError(f"{name} is for translators, and this model describes pictures. Leave it away.")
