"""The network that works on each position by itself: it widens, bends, and narrows again."""

from jaxtyping import Float
from torch import Tensor, nn

from regard.layers.dropout import Dropout

ACTIVATIONS = {"relu": nn.ReLU, "gelu": nn.GELU, "silu": nn.SiLU}


class FeedForward(nn.Module):
    """W_2 f(W_1 x), with f one of ReLU, GELU and SiLU."""

    def __init__(self, width: int, inner: int, *, activation: str = "relu", dropout: float = 0.0) -> None:
        super().__init__()
        self.widen = nn.Linear(width, inner)
        self.activation = ACTIVATIONS[activation]()
        self.dropout = Dropout(dropout)
        self.narrow = nn.Linear(inner, width)

    def forward(self, x: Float[Tensor, "B T W"]) -> Float[Tensor, "B T W"]:
        narrowed: Tensor = self.narrow(self.dropout(self.activation(self.widen(x))))
        return narrowed
