"""What people look at: plain data in, drawings and pages out."""

from regard.view.drawing import Drawing, draw
from regard.view.notebook import show
from regard.view.saving import save

__all__ = ["Drawing", "draw", "save", "show"]
