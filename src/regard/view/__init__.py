"""What people look at: plain data in, drawings and pages out."""

from regard.view.notebook import show

__all__ = ["show"]
