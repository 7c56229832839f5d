from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import RegardError
from regard.metrics.alignment import (
    GoldAlignment,
    alignment_error_rate,
    format_alignment,
    parse_alignment,
    parse_alignments,
    symmetrize,
)

DATA = Path(__file__).parents[4] / "shared" / "data" / "align"
LINKS = st.frozensets(st.tuples(st.integers(0, 5), st.integers(0, 4)))


@pytest.mark.skipif(not DATA.is_dir(), reason=f"the alignment data is not at {DATA}")
@pytest.mark.parametrize(("name", "error"), [("enfr", 0.0407), ("roen", 0.2075)])
def test_published_outputs_have_their_published_error(name, error):
    def lines(kind: str) -> list[str]:
        return (DATA / f"{name}.{kind}").read_text(encoding="utf-8").removesuffix("\n").split("\n")

    gold = parse_alignments(lines("gold"), one_based=True, origin=f"{name}.gold")
    output = parse_alignments(lines("reference-output"))
    score = alignment_error_rate(
        [alignment.sure for alignment in output],
        [alignment.sure for alignment in gold],
        [alignment.possible for alignment in gold],
    )
    assert round(score.aer, 4) == error


def test_sure_and_possible_links_are_distinguished():
    alignment = parse_alignment("0-1 2p3  4-4\t")
    assert alignment.sure == {(0, 1), (4, 4)}
    assert alignment.possible == {(0, 1), (2, 3), (4, 4)}


def test_words_counted_from_one_are_shifted():
    assert parse_alignment("1-1 3p2", one_based=True) == parse_alignment("0-0 2p1")


def test_blank_line_is_a_sentence_without_links():
    assert parse_alignments(["", "0-0"]) == [GoldAlignment(frozenset(), frozenset()), parse_alignment("0-0")]


@given(sure=LINKS, extra=LINKS, one_based=st.booleans())
def test_links_round_trip(sure, extra, one_based):
    alignment = GoldAlignment(sure=sure, possible=sure | extra)
    assert parse_alignment(format_alignment(alignment, one_based=one_based), one_based=one_based) == alignment


@pytest.mark.parametrize("token", ["1", "1-", "-1", "1-2-3", "a-b", "1:2", "1p-2", "-1-2", "1.5-2", "٣-٤", "9" * 5000])
def test_bad_link_is_refused_with_file_and_line(token):
    with pytest.raises(RegardError, match=r"^links\.txt:2: "):
        parse_alignments(["0-0", f"0-1 {token}"], origin="links.txt")


def test_word_zero_is_refused_with_base_one():
    with pytest.raises(RegardError, match=r"gold:1: '0-1' .* counted from 1"):
        parse_alignments(["0-1"], one_based=True, origin="gold")


def test_the_error_is_counted_over_the_whole_corpus():
    hypotheses = [frozenset({(0, 0), (1, 1), (2, 0)}), frozenset({(0, 0)})]
    sure = [frozenset({(0, 0)}), frozenset({(0, 0), (1, 1)})]
    possible = [frozenset({(0, 0), (1, 1)}), frozenset({(0, 0), (1, 1)})]
    score = alignment_error_rate(hypotheses, sure, possible)
    assert (score.precision, score.recall) == (3 / 4, 2 / 3)
    assert score.aer == pytest.approx(1 - (2 + 3) / (4 + 3))
    assert (score.links, score.sure, score.possible) == (4, 3, 4)


@given(st.lists(LINKS, min_size=1))
def test_the_gold_alignment_itself_has_no_error(links):
    assert alignment_error_rate(links, links, links).aer == 0


@given(st.lists(st.tuples(LINKS, LINKS, LINKS), min_size=1))
def test_every_share_is_between_zero_and_one(sentences):
    score = alignment_error_rate(*(list(column) for column in zip(*sentences, strict=True)))
    assert all(0 <= share <= 1 for share in (score.precision, score.recall, score.aer))


def test_sure_link_is_possible_too():
    link = frozenset({(0, 0)})
    assert alignment_error_rate([link], [link], [frozenset()]).aer == 0


def test_unequal_counts_and_empty_corpora_are_refused():
    with pytest.raises(RegardError, match="1 hypotheses, 2 sure and 1 possible"):
        alignment_error_rate([frozenset()], [frozenset()] * 2, [frozenset()])
    with pytest.raises(RegardError, match="at least one sentence"):
        alignment_error_rate([], [], [])


def test_grow_diag_final_adds_free_words_last():
    forward = frozenset({(0, 0), (1, 1), (2, 1), (5, 5)})
    backward = frozenset({(0, 0), (1, 1), (3, 3), (5, 4)})
    # (2, 1) neighbours (1, 1) and reaches the free word 2; (3, 3) and (5, 5) join free words; (5, 4) comes too late.
    assert symmetrize(forward, backward) == {(0, 0), (1, 1), (2, 1), (3, 3), (5, 5)}


@given(forward=LINKS, backward=LINKS)
def test_growing_is_the_published_procedure(forward, backward):
    assert symmetrize(forward, backward) == published_grow_diag_final_and(forward, backward)


@given(forward=LINKS, backward=LINKS)
def test_grow_diag_lies_between_intersection_and_union(forward, backward):
    shared, either = symmetrize(forward, backward, "intersection"), symmetrize(forward, backward, "union")
    assert shared == forward & backward
    assert either == forward | backward
    assert shared <= symmetrize(forward, backward) <= either


def test_an_unknown_symmetry_is_refused():
    with pytest.raises(RegardError, match="intersection, union or grow-diag-final-and"):
        symmetrize(frozenset(), frozenset(), "grow")


def published_grow_diag_final_and(forward, backward):
    """Koehn, Och and Marcu's procedure word by word, over a grid of 6 source by 5 target words."""
    union, links = forward | backward, set(forward & backward)
    steps = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]
    added = True
    while added:
        added = False
        for target, source in product(range(5), range(6)):
            if (source, target) not in links:
                continue
            for target_step, source_step in steps:
                new = (source + source_step, target + target_step)
                source_is_free = new[0] not in {s for s, _ in links}
                target_is_free = new[1] not in {t for _, t in links}
                if (source_is_free or target_is_free) and new in union:
                    links.add(new)
                    added = True
    for direction in (forward, backward):
        for target, source in product(range(5), range(6)):
            is_free = source not in {s for s, _ in links} and target not in {t for _, t in links}
            if is_free and (source, target) in direction:
                links.add((source, target))
    return links
