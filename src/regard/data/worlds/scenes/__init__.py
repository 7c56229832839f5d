"""Pictures that we draw, each with its one caption in English and in Korean, and the box of all that a word speaks of.

A scene is drawn by chance (`layouts`), painted (`drawing`) and said (`english`, `korean`). What can be seen decides the
caption, so that a model's can be exactly right; and every word knows its things, so that attention can be checked.
"""

from regard.data.worlds.scenes.corpus import (
    LANGUAGES,
    Boxes,
    Language,
    Wish,
    boxes_beside,
    caption,
    draw_splits,
    gold_boxes,
    read_boxes,
    scenes,
    split_of,
    spoken,
    write_world,
)
from regard.data.worlds.scenes.drawing import draw
from regard.data.worlds.scenes.things import Box, Kind, Scene, Thing, Word, box_of

__all__ = [
    "LANGUAGES",
    "Box",
    "Boxes",
    "Kind",
    "Language",
    "Scene",
    "Thing",
    "Wish",
    "Word",
    "box_of",
    "boxes_beside",
    "caption",
    "draw",
    "draw_splits",
    "gold_boxes",
    "read_boxes",
    "scenes",
    "split_of",
    "spoken",
    "write_world",
]
