"""Captioned pictures: read from the field's formats, opened safely, prepared once, and varied in training."""

from regard.data.pictures.augmentation import Augmentation, Draw, augment, tells_sides_apart
from regard.data.pictures.captioned import Captioned
from regard.data.pictures.opening import MOST_PIXELS, PICTURE_FORMATS, open_picture
from regard.data.pictures.reading import CAPTION_FORMATS, read_captioned
from regard.data.pictures.store import Features, PictureStore, Precision, prepare_pictures

__all__ = [
    "CAPTION_FORMATS",
    "MOST_PIXELS",
    "PICTURE_FORMATS",
    "Augmentation",
    "Captioned",
    "Draw",
    "Features",
    "PictureStore",
    "Precision",
    "augment",
    "open_picture",
    "prepare_pictures",
    "read_captioned",
    "tells_sides_apart",
]
