"""The tour has at most eight stops; links, source paths and decision numbers are valid."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
FOLDERS = ("src", "tests", "benchmarks", "recipes", "docs")
SOURCES = [str(path) for folder in FOLDERS for path in (ROOT / folder).rglob("*.*")]


def test_tour_has_at_most_eight_stops() -> None:
    stops = re.findall(r"^\d+\. \*\*\[(.+?)\]", (ROOT / "docs" / "tour.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert 3 <= len(stops) <= 8


@pytest.mark.parametrize("name", ["tour", "notation", "page", "language"])
def test_both_languages_name_the_same_things(name: str) -> None:
    english, korean = (
        re.sub(r" +# .*", "", (ROOT / "docs" / f"{name}{ending}").read_text(encoding="utf-8")).replace(".ko.md", ".md")
        for ending in (".md", ".ko.md")
    )
    for pattern in (r"\]\((\.\./[^)]+)\)", r"`[^`]+`", r"^\| ([A-Z]) \|"):  # sorted, since word order differs
        assert sorted(re.findall(pattern, english, re.MULTILINE)) == sorted(re.findall(pattern, korean, re.MULTILINE))
    commands = [re.findall(r"^    (\S.*)$", text, re.MULTILINE) for text in (english, korean)]
    assert commands[0] == commands[1]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_is_valid(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_source_path_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")  # `training/loop.py` is src/regard/training/loop.py
    for name in re.findall(r"`((?:\w+/)+\w+\.(?:py|js|toml))`", text):
        assert any(path.endswith(f"/{name}") for path in SOURCES), name


def test_decisions_are_numbered_without_gaps() -> None:
    pages = sorted((ROOT / "docs" / "decisions").glob("0*.md"))
    assert [int(page.name[:4]) for page in pages] == list(range(1, len(pages) + 1))
    for page in pages:
        assert page.read_text(encoding="utf-8").startswith(f"# {page.name[:4]}: "), page.name
