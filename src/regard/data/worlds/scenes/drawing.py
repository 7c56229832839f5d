"""Scenes as pixels: polygons filled with smooth edges, in numpy alone.

A drawing library would do it too, but its edges change from one version to the next, and with them the data.
"""

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray

from regard.data.worlds.scenes.things import Colour, Scene, outline

LINES = 4  # scan lines in a row of pixels
RIM = 0.025  # of the ground's grey around each thing, as a share of the side: what lies on another stands out from it
PALETTE: dict[Colour, tuple[int, int, int]] = {
    "red": (220, 40, 40),
    "orange": (245, 135, 20),
    "yellow": (245, 220, 50),
    "green": (35, 150, 65),
    "blue": (45, 90, 220),
    "purple": (140, 55, 175),
    "white": (245, 245, 245),
    "black": (22, 22, 22),
}


def draw(scene: Scene, size: int = 64) -> NDArray[np.uint8]:
    """The scene as red, green and blue: (3, size, size); the first group lies on top."""
    picture = np.full((3, size, size), scene.ground)
    for group in reversed(scene.groups):
        for thing in group:
            colour = np.array(PALETTE[thing.kind.colour]) + thing.tint
            rimmed = dataclasses.replace(thing, radius=thing.radius + RIM)
            _paint(picture, outline(rimmed) * size, np.full(3, scene.ground))
            _paint(picture, outline(thing) * size, colour)
    pixels: NDArray[np.uint8] = np.clip(np.rint(picture), 0, 255).astype(np.uint8)
    return pixels


def coverage(corners: NDArray[np.float64], width: int, height: int) -> NDArray[np.float64]:
    """The share of each pixel that lies inside a polygon whose edges do not cross: (height, width).

    Along a scan line it is exact: each edge that the line meets adds, or takes away, all that lies to its right.
    """
    here, there = corners, np.roll(corners, -1, axis=0)
    lines = (np.arange(height * LINES)[:, None] + 0.5) / LINES
    meets = (here[:, 1] <= lines) != (there[:, 1] <= lines)  # (lines, edges)
    fall = there[:, 1] - here[:, 1]
    along = (lines - here[:, 1]) / np.where(fall == 0, 1.0, fall)
    crossing = here[:, 0] + along * (there[:, 0] - here[:, 0])
    to_the_right = np.clip(np.arange(1, width + 1) - crossing[:, :, None], 0, 1)  # (lines, edges, pixels)
    inside = np.einsum("le,lep->lp", meets * np.sign(fall), to_the_right)
    shares: NDArray[np.float64] = np.abs(inside).reshape(height, LINES, width).mean(1)
    return shares


def _paint(picture: NDArray[np.float64], corners: NDArray[np.float64], colour: NDArray[np.float64]) -> None:
    """Lay a polygon over the picture, working on the pixels around it alone."""
    size = picture.shape[1]
    left, top = (max(0, math.floor(low)) for low in corners.min(0))
    right, bottom = (min(size, math.ceil(high)) for high in corners.max(0))
    share = coverage(corners - [left, top], right - left, bottom - top)
    patch = picture[:, top:bottom, left:right]
    patch += share * (colour[:, None, None] - patch)
