"""The references of the Node tests are what numpy computes today."""

import json
import re
from typing import Any

import pytest

from tests.web.references.write import FOLDER, references


@pytest.mark.parametrize("name", sorted(references()))
def test_a_reference_file_is_up_to_date(name: str) -> None:
    written = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    numbers, text = split_numbers(json.loads(json.dumps(references()[name])))
    written_numbers, written_text = split_numbers(written)
    assert written_text == text
    # Processors round the last digit differently.
    assert written_numbers == pytest.approx(numbers, rel=1e-12, abs=1e-12)


def split_numbers(value: Any) -> tuple[list[float], str]:
    """The fractions in a JSON value, and the value as text without them."""
    numbers: list[float] = []
    text = json.dumps(value)
    json.loads(text, parse_float=lambda digits: numbers.append(float(digits)))
    return numbers, re.sub(r"-?\d+(\.\d+(e-?\d+)?|e-?\d+)", "#", text)
