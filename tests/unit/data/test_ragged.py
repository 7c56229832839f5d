from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.token_store import RaggedRows, RaggedWriter

IDS = np.dtype("<i4")
rows_of_ids = st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=5), min_size=1).filter(any)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ragged")


def write(directory: Path, rows: list[list[int]]) -> RaggedRows:
    with RaggedWriter(directory, "rows", IDS) as writer:
        for start in range(0, len(rows), 2):
            block = rows[start : start + 2]
            values = np.array([value for row in block for value in row], IDS)
            writer.extend(values.tobytes(), np.array([len(row) for row in block]))
    return RaggedRows(directory, "rows", IDS)


@settings(deadline=None)  # it writes to the disk
@given(rows_of_ids)
def test_rows_round_trip(scratch: Path, rows: list[list[int]]) -> None:
    read = write(scratch, rows)
    assert [read[index].tolist() for index in range(len(read))] == rows
    assert read.lengths.tolist() == [len(row) for row in rows]
    values = [value for row in rows for value in row]
    assert read.frequency_of(values[0]) == values.count(values[0]) / len(values)


@pytest.mark.parametrize("index", [-1, 2])
def test_a_row_outside_is_an_error(tmp_path: Path, index: int) -> None:
    with pytest.raises(IndexError, match=f"row {index} of 2"):
        write(tmp_path, [[1], [2, 3]])[index]
