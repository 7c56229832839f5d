"""The references of the Node tests are what numpy computes today."""

import json

import pytest

from tests.web.references.write import FOLDER, references


@pytest.mark.parametrize("name", sorted(references()))
def test_a_reference_file_is_up_to_date(name: str) -> None:
    written = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    assert json.dumps(written) == json.dumps(json.loads(json.dumps(references()[name])))
