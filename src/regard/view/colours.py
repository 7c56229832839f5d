"""How dark a weight is drawn: even steps of lightness, so that it reads the same to every eye, and in grey.

The ramps are those of page/colour.js: light paper to deep blue, or dark paper to pale blue, in Ottosson's OKLab.
"""

import math
from functools import cache
from typing import Literal

Ground = Literal["light", "dark"]
Bytes = tuple[int, int, int]
STEPS = 256
RAMPS: dict[Ground, tuple[tuple[float, float, float], ...]] = {  # lightness, chroma, hue at the weights 0, 1/2 and 1
    "light": ((0.985, 0.006, 250), (0.68, 0.115, 245), (0.34, 0.13, 264)),
    "dark": ((0.235, 0.016, 262), (0.56, 0.125, 252), (0.93, 0.06, 215)),
}


def shade(weight: float, ground: Ground = "light") -> Bytes:
    """The colour of a weight from 0 to 1, as red, green and blue."""
    bounded = min(1.0, max(0.0, weight)) if math.isfinite(weight) else 0.0
    return ramp(ground)[round(bounded * (STEPS - 1))]


@cache
def ramp(ground: Ground) -> tuple[Bytes, ...]:
    """The colours of the weights 0, 1/255, ... 1."""
    return tuple(_ramp_colour(RAMPS[ground], step / (STEPS - 1)) for step in range(STEPS))


def hexadecimal(colour: Bytes) -> str:
    """The colour as style sheets write it."""
    return "#" + "".join(f"{part:02x}" for part in colour)


def _ramp_colour(stops: tuple[tuple[float, float, float], ...], part: float) -> Bytes:
    first, middle, last = stops
    start, end, along = (first, middle, part * 2) if part < 0.5 else (middle, last, part * 2 - 1)
    lightness = first[0] + (last[0] - first[0]) * part
    chroma, hue = (start[axis] + (end[axis] - start[axis]) * along for axis in (1, 2))
    return _from_oklch(lightness, chroma, math.radians(hue))


def _from_oklch(lightness: float, chroma: float, hue: float) -> Bytes:
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
