"""Attention maps, image maps and curves: plain data in; SVG, PNG, HTML, terminal and notebook out."""

from regard.plotting.attention_map import AttentionFigure, plot_attention
from regard.plotting.confusion import plot_confusion
from regard.plotting.image_map import plot_image_attention
from regard.plotting.line_plot import plot_curves
from regard.plotting.save import save, show

__all__ = ["AttentionFigure", "plot_attention", "plot_confusion", "plot_curves", "plot_image_attention", "save", "show"]
