"""Colours of weights, in even steps of lightness, so that they read the same in grey.

The ramps are those of the page (light background to deep blue, or dark background to pale blue) in Ottosson's OKLab.
"""

import math
from functools import cache
from typing import Literal

Theme = Literal["light", "dark"]
RGB = tuple[int, int, int]
RAMP_STEPS = 256
RAMPS: dict[Theme, tuple[tuple[float, float, float], ...]] = {  # lightness, chroma, hue at the weights 0, 1/2 and 1
    "light": ((0.985, 0.006, 250), (0.68, 0.115, 245), (0.34, 0.13, 264)),
    "dark": ((0.235, 0.016, 262), (0.56, 0.125, 252), (0.93, 0.06, 215)),
}


def color_of(weight: float, theme: Theme = "light") -> RGB:
    """The colour of a weight from 0 to 1, as red, green and blue."""
    bounded = min(1.0, max(0.0, weight)) if math.isfinite(weight) else 0.0
    return color_ramp(theme)[round(bounded * (RAMP_STEPS - 1))]


@cache
def color_ramp(theme: Theme) -> tuple[RGB, ...]:
    """The colours of the weights 0, 1/255, ... 1."""
    (first, middle, last), colors = RAMPS[theme], []
    for step in range(RAMP_STEPS):
        part = step / (RAMP_STEPS - 1)
        start, end, along = (first, middle, part * 2) if part < 0.5 else (middle, last, part * 2 - 1)
        lightness = first[0] + (last[0] - first[0]) * part
        chroma, hue = (start[axis] + (end[axis] - start[axis]) * along for axis in (1, 2))
        colors.append(_from_oklch(lightness, chroma, math.radians(hue)))
    return tuple(colors)


def to_hex(colour: RGB) -> str:
    """The colour in CSS notation."""
    return "#" + "".join(f"{part:02x}" for part in colour)


def _from_oklch(lightness: float, chroma: float, hue: float) -> RGB:
    a, b = chroma * math.cos(hue), chroma * math.sin(hue)
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        _byte(4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short),
        _byte(-1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short),
        _byte(-0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short),
    )


def _byte(linear: float) -> int:
    bounded = min(1.0, max(0.0, linear))
    curved = 12.92 * bounded if bounded <= 0.0031308 else 1.055 * bounded ** (1 / 2.4) - 0.055
    return round(curved * 255)
