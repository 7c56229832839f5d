import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from regard.attention.key_value_cache import KeyValues

BATCH, HEADS, WIDTH, VALUE_WIDTH = 3, 2, 5, 7


def fresh(length: int, batch: int = BATCH) -> KeyValues:
    return KeyValues.from_tensors(
        torch.randn(batch, HEADS, length, WIDTH), torch.randn(batch, HEADS, length, VALUE_WIDTH)
    )


def contents(key_values: KeyValues) -> tuple[Tensor, Tensor]:
    return key_values.key.clone(), key_values.value.clone()


def joined(*parts: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    return torch.cat([key for key, _ in parts], dim=2), torch.cat([value for _, value in parts], dim=2)


def holds(key_values: KeyValues, expected: tuple[Tensor, Tensor]) -> bool:
    return torch.equal(key_values.key, expected[0]) and torch.equal(key_values.value, expected[1])


def test_first_keys_are_kept_without_a_copy() -> None:
    key, value = torch.randn(BATCH, HEADS, 4, WIDTH), torch.randn(BATCH, HEADS, 4, VALUE_WIDTH)
    key_values = KeyValues.from_tensors(key, value)
    assert key_values.length == 4
    assert key_values.key.data_ptr() == key.data_ptr()
    assert key_values.value.data_ptr() == value.data_ptr()


@given(st.lists(st.integers(1, 20), min_size=1, max_size=8), st.booleans())
def test_extending_is_joining(lengths: list[int], has_gradient: bool) -> None:
    parts = [fresh(length) for length in lengths]
    whole = parts[0]
    with torch.set_grad_enabled(has_gradient):
        for part in parts[1:]:
            whole = whole.extend(part)
    assert whole.length == sum(lengths)
    assert holds(whole, joined(*(contents(part) for part in parts)))


@given(st.data())
def test_each_branch_holds_its_own_keys_after_selection(data: st.DataObject) -> None:
    """Every KeyValues ever made is held against plain joined tensors, after everything that happened to the others."""
    first = fresh(data.draw(st.integers(1, 3)))
    known = [(first, contents(first))]
    for _ in range(data.draw(st.integers(1, 12))):
        key_values, expected = known[data.draw(st.integers(0, len(known) - 1))]
        batch = key_values.key.shape[0]
        with torch.set_grad_enabled(data.draw(st.integers(0, 3)) == 0):
            if data.draw(st.booleans()):
                new = fresh(data.draw(st.integers(1, 10)), batch)
                known.append((key_values.extend(new), joined(expected, contents(new))))
            else:
                rows = torch.tensor(data.draw(st.lists(st.integers(0, batch - 1), min_size=1, max_size=4)))
                known.append((key_values.select_rows(rows), (expected[0][rows], expected[1][rows])))
    assert all(holds(key_values, expected) for key_values, expected in known)


@torch.no_grad()
def test_growth_copies_seldom() -> None:
    key_values, rooms, copied = fresh(1), [], 0
    for _ in range(999):
        before = key_values.buffer
        key_values = key_values.extend(fresh(1))
        if key_values.buffer is not before:
            rooms.append(key_values.buffer)
            copied += key_values.length - 1
    assert len(rooms) <= 8
    assert copied <= 2 * 1000  # joining anew each time would copy half a million
    assert key_values.length == 1000


@torch.no_grad()
def test_first_branch_extends_in_place_and_second_copies() -> None:
    trunk = fresh(3).extend(fresh(1))
    left, right = trunk.extend(fresh(1)), trunk.extend(fresh(1))
    assert left.buffer is trunk.buffer
    assert right.buffer is not trunk.buffer
    assert not torch.equal(left.key[:, :, 4:], right.key[:, :, 4:])
    assert torch.equal(left.key[:, :, :4], right.key[:, :, :4])


@torch.no_grad()
def test_tensors_that_were_given_are_never_written_to() -> None:
    given_values = fresh(3)
    before = contents(given_values)
    given_values.extend(fresh(2)).extend(fresh(2))
    assert given_values.buffer.key.shape[2] == 3
    assert holds(given_values, before)


def test_gradients_reach_old_and_new_keys() -> None:
    old = torch.randn(BATCH, HEADS, 2, WIDTH, requires_grad=True)
    new = torch.randn(BATCH, HEADS, 1, WIDTH, requires_grad=True)
    first, second = KeyValues.from_tensors(old, old.detach()), KeyValues.from_tensors(new, new.detach())
    once = first.extend(second)
    seen_once = (once.key**2).sum()  # its gradient needs `once` as it is now, whatever is written after it
    seen_twice = (once.extend(second).key ** 2).sum()
    (seen_once + 10 * seen_twice).backward()
    assert_close(old.grad, 2 * 11 * old.detach())
    assert_close(new.grad, 2 * 21 * new.detach())


def test_rows_are_selected_in_order_with_repeats() -> None:
    key_values = fresh(4)
    chosen = key_values.select_rows(torch.tensor([2, 0, 0, 1]))
    assert chosen.key.shape == (4, HEADS, 4, WIDTH)
    assert holds(chosen, (key_values.key[[2, 0, 0, 1]], key_values.value[[2, 0, 0, 1]]))


@torch.no_grad()
def test_finiteness_is_checked_for_filled_positions_only() -> None:
    trunk = fresh(2).extend(fresh(1))
    assert trunk.is_finite
    foul = fresh(1)
    foul.value[0, 0, 0, 0] = float("nan")
    extended = trunk.extend(foul)
    assert extended.buffer is trunk.buffer
    assert not extended.is_finite
    assert trunk.is_finite
    assert KeyValues(trunk.buffer, trunk.length).is_finite


def test_inference_mode_cache_can_be_extended_outside_it() -> None:
    def one() -> KeyValues:
        return KeyValues.from_tensors(torch.randn(2, 3, 1, 5), torch.randn(2, 3, 1, 7))

    with torch.inference_mode():
        grown = one().extend(one())
    with torch.no_grad():
        longer = grown.extend(one())
    assert longer.length == 3
    assert torch.equal(longer.key[:, :, :2], grown.key)
