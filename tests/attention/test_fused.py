"""The fast context is the plain one, on either side of the length at which the way of computing it changes."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attention.attend import attend
from regard.attention.fused import LEAST, SHORT, fused_context
from regard.attention.general import Visible
from regard.attention.scores import scaled_dot
from regard.attention.visibility import causal

ROWS, HEADS, WIDTH, VALUE_WIDTH = 3, 2, 5, 7
LENGTHS = [1, 2, LEAST - 1, LEAST, LEAST + 1, SHORT, SHORT + 1]


def parts(queries: int, keys: int) -> list[Tensor]:
    """A query, a key and a value that lie as a projection of (B, T, H D) leaves them."""
    generator = torch.Generator().manual_seed(keys)
    sizes = [(queries, WIDTH), (keys, WIDTH), (keys, VALUE_WIDTH)]
    made = [torch.randn(ROWS, length, HEADS, width, generator=generator) for length, width in sizes]
    return [part.transpose(1, 2).requires_grad_() for part in made]


def seen_by(rule: str, queries: int, keys: int) -> tuple[Visible, Tensor | None]:
    """The rule as the fast way is told it, and as a table."""
    if rule == "padding":
        table = torch.arange(keys) < torch.tensor([keys, max(1, keys // 2), 1])[:, None]
        return table[:, None, None], table[:, None, None]
    if rule == "causal":
        return "causal", causal(torch.arange(queries), torch.arange(keys))
    return None, None


@pytest.mark.parametrize("rule", ["none", "padding", "causal"])
@pytest.mark.parametrize("keys", LENGTHS)
@pytest.mark.parametrize("queries", [1, 4, None])
def test_it_finds_what_attend_finds_and_its_gradients_are_the_same(queries: int | None, keys: int, rule: str) -> None:
    queries = keys if queries is None or rule == "causal" else queries
    given, (visible, table) = parts(queries, keys), seen_by(rule, queries, keys)
    query, key, value = given
    fast, plain = fused_context(query, key, value, visible), attend(scaled_dot(query, key), value, table).context
    assert_close(fast, plain)
    pull = torch.randn(fast.shape, generator=torch.Generator().manual_seed(0))
    assert_close(torch.autograd.grad(fast, given, pull), torch.autograd.grad(plain, given, pull))


@pytest.mark.parametrize("keys", LENGTHS)
def test_who_sees_nothing_finds_nothing(keys: int) -> None:
    query, key, value = parts(4, keys)
    visible = torch.ones(ROWS, 1, 1, keys, dtype=torch.bool)
    visible[1] = False
    found = fused_context(query, key, value, visible)
    assert (found[1] == 0).all()
    assert_close(found[[0, 2]], fused_context(query, key, value, None)[[0, 2]])
