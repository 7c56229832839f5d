"""Running `regard show` on pictures: one in large panels, several as one sheet of small ones."""

from pathlib import Path

from regard.captioning.captioner import Caption, Captioner
from regard.captioning.tracing import word_maps
from regard.cli.running.outputs import check_outputs
from regard.cli.running.show_wish import Sheet, Wish, warn_of_boxes
from regard.cli.running.telling import make_console, warn
from regard.data.pictures import open_picture
from regard.data.worlds.scenes import boxes_beside
from regard.errors import RegardError
from regard.symbols import UNKNOWN
from regard.view.caption_record import Described, GoldCaption
from regard.view.page_file import html_file
from regard.view.picture_page import picture_page_data
from regard.view.regions import sheet_of
from regard.view.regions_plan import Regions
from regard.view.regions_terminal import print_regions
from regard.view.trace_maps import check_choice

DRAWN_SIZE = 264  # pixels of a picture that is drawn: sharper than the square that the model sees


def show_pictures(captioner: Captioner, pictures: list[Path], wish: Wish, sheet: Sheet, *, name: str) -> str:
    """Describe the pictures and show where each word looks; returns what was said."""
    _refuse_options_of_translators(wish, len(pictures))
    check_outputs({"--out": sheet.out}, pictures)
    described = [_described(captioner, picture, wish) for picture in pictures]
    if sheet.kind == ".html":
        data = picture_page_data(described, name=name, language=captioner.bundle.languages[1])
        sheet.write(html_file(data, title=f"{described[0].trace.text} · regard").encode())
    else:
        regions = [_regions(path, one, wish) for path, one in zip(pictures, described, strict=True)]
        _draw(regions, sheet)
    return "; ".join(one.trace.text for one in described)


def _draw(regions: list[Regions], sheet: Sheet) -> None:
    if sheet.kind == ".png":
        warn_of_boxes(one.title for one in regions)
    if sheet.kind:
        sheet.write(sheet_of(regions, sheet.kind))
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
    if not trace.of_use("picture"):
        raise RegardError(
            "this model has no attention to show: without it, a captioner sees its picture as one vector. "
            "Give a model of kind captioner-attention or captioner-transformer."
        )
    check_choice(trace, wish.choice("picture"))
    return Described(square, captioner.eye.side, caption, trace, GoldCaption.of(boxes_beside(picture)))


def _forced(captioner: Captioner, text: str) -> Caption:
    tokens = captioner.bundle.tokenizers.target.encode(text)
    if UNKNOWN in tokens:
        warn(f"{text!r} has words that the model does not know; they are shown as <unk>")
    return Caption(text, 0.0, 0.0, tokens)


def _regions(picture: Path, described: Described, wish: Wish) -> Regions:
    choice, gold = wish.choice("picture"), described.gold
    maps = word_maps(described.trace, choice.layer, choice.head)
    words = [word for word, _ in maps]
    boxes = gold.boxes if gold is not None and gold.words == words else ()
    drawn = open_picture(picture, size=max(DRAWN_SIZE, len(described.square[0])))
    return Regions.of(drawn, words, [weights for _, weights in maps], title=described.trace.text, boxes=boxes)


def _refuse_options_of_translators(wish: Wish, pictures: int) -> None:
    for name, is_given in (("--use", wish.use), ("--pieces", wish.pieces), ("--when read", wish.when == "read")):
        if is_given:
            raise RegardError(f"{name} is for translators, and this model describes pictures. Leave it away.")
    if wish.target is not None and pictures > 1:
        raise RegardError(f"--target is one caption, and there are {pictures} pictures. Give one picture.")
    if wish.target is not None and not wish.target.strip():
        raise RegardError("--target is empty. Give a caption with words in it.")
