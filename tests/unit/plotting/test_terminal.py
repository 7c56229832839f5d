"""Maps in a terminal: columns stand below their labels whatever the script, nothing is wider than the screen."""

import re
from io import StringIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from regard.plotting.attention_map import AttentionMap
from regard.plotting.terminal import CELL_WIDTH, SHADE_CHARACTERS, print_map
from regard.plotting.weight_colors import color_of

ROWS, COLUMNS = ["AI가", "세상을", "바꾼다"], ["AI", "changes", "world"]
WEIGHTS = np.array([[1.0, 0.0, 0.0], [0.0, 0.25, 0.75], [0.0, 0.5, 0.5]])
MAP = AttentionMap("AI changes world → AI가 세상을 바꾼다", "cross-attention: layer 1, head 1", ROWS, COLUMNS, WEIGHTS)


def printed(drawn: AttentionMap, **options: object) -> str:
    file = StringIO()
    print_map(Console(file=file, width=80, highlight=False, **options), drawn)  # type: ignore[arg-type]
    return file.getvalue()


def plain_rows(text: str) -> list[str]:
    return [line for line in text.splitlines() if any(mark in line for mark in SHADE_CHARACTERS)]


def test_plain_characters_stand_for_the_weights() -> None:
    rows = plain_rows(printed(MAP))
    assert [line.split()[1] for line in rows] == ["██····", "··░░▓▓", "··▒▒▒▒"]
    assert [line.split()[0] for line in rows] == ROWS


def test_each_label_is_above_its_column() -> None:
    lines = printed(MAP).splitlines()
    first = min(cell_len(line[: line.index("·")]) for line in plain_rows(printed(MAP)) if line.split()[1][0] == "·")
    for place, label in enumerate(COLUMNS):
        (header,) = [
            line for line in lines if line.endswith(f" {label}") and not any(mark in line for mark in SHADE_CHARACTERS)
        ]
        assert cell_len(header) - cell_len(label) == first + CELL_WIDTH * place


def test_rows_print_their_most_attended_words() -> None:
    assert [line.split()[-2:] for line in plain_rows(printed(MAP))] == [
        ["1.00", "AI"],
        ["0.75", "world"],
        ["0.50", "changes"],
    ]


def test_a_terminal_with_colours_gets_the_shades() -> None:
    text = printed(MAP, force_terminal=True, color_system="truecolor", legacy_windows=False)
    for weight in (1.0, 0.75, 0.0):
        assert f"48;2;{';'.join(map(str, color_of(weight, 'dark')))}" in text
    assert not plain_rows(text)


def test_a_terminal_without_colours_gets_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert plain_rows(printed(MAP, force_terminal=True))


@given(count=st.integers(1, 60), width=st.integers(40, 100), seed=st.integers(0, 99))
def test_no_line_exceeds_the_terminal_and_columns_stay(count: int, width: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    names = [chance.choice(["가나다", "word", "</s>"]) + str(place) for place in range(count)]
    drawn = AttentionMap("t", "s", ROWS, names, chance.dirichlet(np.ones(count), size=3))
    file = StringIO()
    print_map(Console(file=file, width=width), drawn)
    lines = file.getvalue().splitlines()
    rows = [line for line in lines if any(line.lstrip().startswith(f"{label} ") for label in ROWS)]
    assert all(cell_len(line) <= width for line in lines)
    blocks = [re.findall(f"[{SHADE_CHARACTERS}]+", line)[0] for line in rows]
    assert sum(map(len, blocks)) == CELL_WIDTH * count * len(ROWS)
    labels = [line.split()[-1] for line in lines[2:] if line.strip() and line not in rows]
    assert labels == names


@given(label=st.text(alphabet=st.characters(codec=None), min_size=1, max_size=9))
def test_no_label_can_steer_the_terminal(label: str) -> None:
    text = printed(
        AttentionMap(f"\x1b]0;{label}\x07", "\x9b31m", [f"\x1b[2J{label}"], [f"a\r\n{label}"], np.ones((1, 1)))
    )
    assert not [letter for letter in text if letter != "\n" and not letter.isprintable()]
    assert len(text.splitlines()) == 5  # title, subtitle, an empty line, a label, a row


def test_a_map_of_nothing_is_printed() -> None:
    assert "title" in printed(AttentionMap("title", "", [], [], np.zeros((0, 0))))
    assert "가" in printed(AttentionMap("title", "", ["가"], [], np.zeros((1, 0))))
