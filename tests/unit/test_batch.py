import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.batch import Batch, Images, PaddedTokens, encode_source_rows
from regard.special_tokens import BEGIN, END, PADDING

row = st.lists(st.integers(0, 50), max_size=9)
rows = st.lists(row, min_size=1, max_size=5)


def real_rows(padded: PaddedTokens) -> list[list[int]]:
    return [tokens[real].tolist() for tokens, real in zip(padded.tokens, padded.is_real, strict=True)]


@given(rows)
def test_batch_rows_are_real_tokens_then_padding(given_rows: list[list[int]]) -> None:
    padded = PaddedTokens.from_rows(given_rows)
    assert real_rows(padded) == given_rows
    assert (padded.tokens[~padded.is_real] == PADDING).all()
    assert padded.tokens.shape == (len(given_rows), max(map(len, given_rows)))
    assert padded.tokens.dtype == torch.long


@given(rows)
def test_real_tokens_come_first_and_lengths_count_them(given_rows: list[list[int]]) -> None:
    padded = PaddedTokens.from_rows(given_rows)
    assert padded.lengths == tuple(map(len, given_rows))
    assert padded.is_real.sum(dim=1).tolist() == list(padded.lengths)
    assert not (padded.is_real[:, 1:] & ~padded.is_real[:, :-1]).any()
    assert padded.has_padding == (not padded.is_real.all())


def test_token_is_real_by_place_and_not_id() -> None:
    padded = PaddedTokens.from_rows([[7, PADDING, 7], [PADDING]])
    assert padded.is_real.tolist() == [[True, True, True], [True, False, False]]


@given(rows, rows)
def test_decoder_input_is_shifted_against_its_target(sources: list[list[int]], targets: list[list[int]]) -> None:
    batch = Batch.from_pairs(sources, targets)
    assert real_rows(batch.inputs) == [[BEGIN, *target] for target in targets]
    assert real_rows(batch.outputs) == [[*target, END] for target in targets]
    assert torch.equal(batch.inputs.is_real, batch.outputs.is_real)
    for inputs, outputs in zip(real_rows(batch.inputs), real_rows(batch.outputs), strict=True):
        assert inputs[1:] == outputs[:-1]  # what is said at one place is read at the next


@given(rows)
def test_every_source_ends_with_end_of_sequence(sources: list[list[int]]) -> None:
    padded = encode_source_rows(sources)
    assert real_rows(padded) == [[*source, END] for source in sources]
    assert min(padded.lengths) >= 1
    batch = Batch.from_pairs(sources, sources)
    assert isinstance(batch.source, PaddedTokens)
    assert torch.equal(batch.source.tokens, padded.tokens)


def test_images_are_a_source_without_words() -> None:
    pictures = Images(torch.randn(2, 3, 5, 7))
    assert pictures.lengths == (0, 0)
    batch = Batch.from_pairs(pictures, [[7, 8], [9]])
    assert isinstance(batch.source, Images)
    assert torch.equal(batch.source.pixels, pictures.pixels)
    assert real_rows(batch.outputs) == [[7, 8, END], [9, END]]


@pytest.mark.parametrize("source", [[[5], [6, 7]], Images(torch.randn(2, 3, 5, 7))], ids=["words", "pictures"])
def test_whole_batch_is_on_the_requested_device(source: list[list[int]] | Images) -> None:
    batch = Batch.from_pairs(source, [[7, 8], [9]], device="meta")
    assert {part.device.type for part in (batch.source, batch.inputs, batch.outputs)} == {"meta"}
    assert batch.inputs.is_real.device.type == "meta"
    assert batch.inputs.lengths == (3, 2)


def test_a_batch_cannot_be_changed() -> None:
    padded = PaddedTokens.from_rows([[5]])
    with pytest.raises(AttributeError):
        padded.lengths = (2,)
