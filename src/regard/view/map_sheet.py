"""Several maps on one sheet, beside and below each other, as SVG or PNG: the heads of a layer."""

from collections.abc import Sequence
from io import BytesIO

from regard.view.maps import FAMILY, FONT, GROUND, Layout, draw_map
from regard.view.trace_maps import Map

COLUMNS = 4


def draw_sheet(maps: Sequence[Map]) -> str:
    """The maps as the text of one SVG file; one map is the drawing that it is anyway."""
    if len(maps) == 1:
        return draw_map(maps[0])
    layouts = [Layout.of(one) for one in maps]
    wide, high = max(layout.width for layout in layouts), max(layout.height for layout in layouts)
    columns = min(COLUMNS, len(maps))
    width, height = wide * columns, high * -(-len(maps) // columns)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'width="{width}" height="{height}" font-family="{FAMILY}" font-size="{FONT}">',
        f"<style>@media (prefers-color-scheme: dark){{.ground{{fill:{GROUND[1]}}}}}</style>",
        f'<rect class="ground" width="{width}" height="{height}" fill="{GROUND[0]}"/>',
    ]
    for number, one in enumerate(maps):
        row, column = divmod(number, columns)
        parts.append(f'<g transform="translate({column * wide} {row * high})">\n{draw_map(one)}</g>')
    return "\n".join([*parts, "</svg>\n"])


def paint_sheet(maps: Sequence[Map]) -> bytes:
    """The maps as the content of one PNG file, on white."""
    from PIL import Image

    from regard.view.painting import paint_map

    painted = [Image.open(BytesIO(paint_map(one))) for one in maps]
    wide, high = max(image.width for image in painted), max(image.height for image in painted)
    columns = min(COLUMNS, len(maps))
    sheet = Image.new("RGB", (wide * columns, high * -(-len(maps) // columns)), GROUND[0])
    for number, image in enumerate(painted):
        row, column = divmod(number, columns)
        sheet.paste(image, (column * wide, row * high))
    content = BytesIO()
    sheet.save(content, format="PNG", optimize=True)
    return content.getvalue()
