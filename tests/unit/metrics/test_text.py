import subprocess
import sys
import unicodedata

import pytest
import sacrebleu

from regard.errors import RegardError
from regard.metrics.text import (
    BUCKET_WIDTH,
    MAX_TER_WORDS,
    MIN_BUCKET_SENTENCES,
    LengthBucket,
    Metric,
    bleu_by_length,
    differences,
    evaluate,
    language_by_script,
    tokenization_for,
)

REFERENCES = [f"The cat number {number} sat on the mat of house {number % 7}." for number in range(40)]
HYPOTHESES = [line.replace("sat on", "sits upon") if number % 3 else line for number, line in enumerate(REFERENCES)]


def test_scores_are_those_of_sacrebleu():
    bleu, chrf, ter = evaluate(HYPOTHESES, REFERENCES, resamples=1)
    assert bleu.value == pytest.approx(sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES]).score)
    assert chrf.value == pytest.approx(sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES]).score)
    assert ter.value == pytest.approx(sacrebleu.corpus_ter(HYPOTHESES, [REFERENCES]).score)
    assert [bleu.name, chrf.name, ter.name] == ["BLEU", "chrF2", "TER"]


def test_only_the_scores_that_are_wanted_are_given():
    every = evaluate(HYPOTHESES, REFERENCES, resamples=1)
    assert evaluate(HYPOTHESES, REFERENCES, resamples=1, wanted=["chrF2"]) == every[1:2]
    assert evaluate(HYPOTHESES, REFERENCES, resamples=1, wanted=["TER", "BLEU"]) == [every[0], every[2]]


def test_a_perfect_translation_scores_perfectly():
    bleu, chrf, ter = evaluate(REFERENCES, REFERENCES, resamples=50)
    assert [bleu.value, chrf.value, ter.value] == pytest.approx([100, 100, 0])
    assert [bleu.low, bleu.high] == pytest.approx([100, 100])


def test_the_interval_holds_the_value_and_is_repeatable():
    scores = evaluate(HYPOTHESES, REFERENCES, resamples=200)
    assert all(score.low < score.value < score.high for score in scores)
    assert scores == evaluate(HYPOTHESES, REFERENCES, resamples=200)


@pytest.mark.parametrize("tokenize", ["13a", "char", "none"])
def test_both_normalisations_of_a_text_score_the_same(tokenize):
    """A syllable is one code or several, on either side."""
    lines = ["고양이가 집에서 잠을 잔다", "학생이 책을 두 권 읽었다", "le café est fermé à midi"]
    apart = [unicodedata.normalize("NFD", line) for line in lines]
    assert apart != lines
    for output, wanted in ((lines, apart), (apart, lines), (apart, apart)):
        assert evaluate(output, wanted, tokenize=tokenize) == evaluate(lines, lines, tokenize=tokenize)
        assert bleu_by_length(lines, output, wanted, tokenize=tokenize)[0].score == pytest.approx(100)


def test_signatures_have_tokenisation_case_and_resamples():
    for tokenize in ("13a", "none", "char", "zh", "intl"):
        bleu, chrf, _ = evaluate(HYPOTHESES, REFERENCES, tokenize=tokenize, lowercase=True, resamples=20)
        assert f"tok:{tokenize}|" in bleu.signature
        assert "case:lc" in bleu.signature
        assert "case:lc" in chrf.signature
        assert "bs:20|" in bleu.signature


def test_lowercase_forgives_case():
    shouted = [line.upper() for line in REFERENCES]
    assert evaluate(shouted, REFERENCES, lowercase=True, resamples=1)[0].value == pytest.approx(100)
    assert evaluate(shouted, REFERENCES, resamples=1)[0].value < 50


def test_differences_are_those_of_the_scores_and_repeatable():
    how = {"tokenize": "char", "lowercase": True, "resamples": 20}
    corpora = [HYPOTHESES, [line.upper() for line in REFERENCES], HYPOTHESES[1:] + HYPOTHESES[:1]]
    first, *others = ([score.value for score in evaluate(one, REFERENCES, **how)[:2]] for one in corpora)
    found = differences(corpora, REFERENCES, **how)
    assert [[one.name for one in own] for own in found] == [["BLEU", "chrF2"]] * 2
    for own, other in zip(found, others, strict=True):
        assert [one.value for one in own] == pytest.approx(
            [value - mine for value, mine in zip(other, first, strict=True)]
        )
    assert found == differences(corpora, REFERENCES, **how)


def test_difference_everywhere_is_significant_and_in_two_not():
    slips = [[line if number != wrong else "x" for number, line in enumerate(REFERENCES)] for wrong in (3, 17)]
    [near, far] = differences([slips[0], slips[1], HYPOTHESES], REFERENCES, resamples=500)
    assert all(one.p_value > 0.2 for one in near)
    assert all(one.p_value < 0.01 and one.value < 0 for one in far)


def test_equals_do_not_differ():
    for output in (HYPOTHESES, [""] * len(REFERENCES)):
        [own] = differences([output, list(output)], REFERENCES, resamples=50)
        assert [(one.value, one.p_value) for one in own] == [(0.0, 1.0)] * 2


@pytest.mark.parametrize("tokenize", ["none", "13a"])
def test_tokenised_text_is_scored_without_sacrebleu_warning(caplog, tokenize):
    lines = ["a b c d ."] * 200
    assert evaluate(lines, lines, tokenize=tokenize, resamples=1)[0].value == pytest.approx(100)
    assert bleu_by_length(lines, lines, lines, tokenize=tokenize)[0].score == pytest.approx(100)
    assert differences([lines, lines], lines, tokenize=tokenize, resamples=2)
    assert caplog.text == ""


def test_blank_hypotheses_score_zero():
    bleu, chrf, ter = evaluate([""] * 40, REFERENCES, resamples=10)
    assert [bleu.value, chrf.value, ter.value] == pytest.approx([0, 0, 100])


def test_ter_is_omitted_where_a_line_is_long():
    lines = ["word " * MAX_TER_WORDS]
    assert [score.name for score in evaluate(lines, lines, resamples=1)] == ["BLEU", "chrF2", "TER"]
    assert [score.name for score in evaluate(["word " * (MAX_TER_WORDS + 1)], lines, resamples=1)] == [
        "BLEU",
        "chrF2",
    ]


@pytest.mark.parametrize(("hypotheses", "references"), [(["a"], []), ([], ["a"]), (["a", "b"], ["a"])])
def test_unequal_counts_are_refused(hypotheses, references):
    with pytest.raises(RegardError, match=f"{len(hypotheses)} hypotheses, {len(references)} references"):
        evaluate(hypotheses, references)
    with pytest.raises(RegardError, match="same number of lines"):
        bleu_by_length(["a"], hypotheses, references)


def test_an_empty_corpus_is_refused():
    with pytest.raises(RegardError, match="at least one line"):
        evaluate([], [])
    with pytest.raises(RegardError, match="at least one line"):
        bleu_by_length([], [], [])


def test_unknown_or_downloading_tokeniser_is_refused():
    for tokenize in ("flores101", "nonsense"):
        with pytest.raises(RegardError, match="choose one of 13a"):
            evaluate(["a"], ["a"], tokenize=tokenize)


def test_each_language_has_a_tokenisation_that_works_here():
    assert tokenization_for("en") == tokenization_for("de-AT") == "13a"
    assert tokenization_for("zh_CN") == "zh"
    assert tokenization_for("ko") in ("ko-mecab", "char")
    for language in ("ko", "ko-KR", "ja", "zh", "fr"):
        assert evaluate(["학교에 갑니다"], ["학교에 갑니다"], tokenize=tokenization_for(language), resamples=1)


def test_missing_analyser_explains_what_to_install():
    if tokenization_for("ko") == "ko-mecab":
        pytest.skip("the Korean analyser is installed")
    with pytest.raises(RegardError, match=r"sacrebleu\[ko\]"):
        evaluate(["가"], ["가"], tokenize="ko-mecab")


def test_buckets_partition_sentences_and_have_their_own_bleu():
    sources = ["w " * 5] * 20 + ["w " * 15] * 20
    short, long = bleu_by_length(sources, HYPOTHESES, REFERENCES)
    assert short == LengthBucket(
        1, 10, 20, pytest.approx(sacrebleu.corpus_bleu(HYPOTHESES[:20], [REFERENCES[:20]]).score)
    )
    assert long == LengthBucket(
        11, 20, 20, pytest.approx(sacrebleu.corpus_bleu(HYPOTHESES[20:], [REFERENCES[20:]]).score)
    )


@pytest.mark.parametrize(("length", "edges"), [(10, (1, 10)), (11, (11, 20)), (20, (11, 20)), (21, (11, 30))])
def test_boundary_sentence_belongs_to_the_shorter_bucket(length, edges):
    sources = ["w"] * MIN_BUCKET_SENTENCES + ["w " * length] * (40 - MIN_BUCKET_SENTENCES)
    last = bleu_by_length(sources, HYPOTHESES, REFERENCES)[-1]
    assert (last.low, last.high) == edges


def test_small_buckets_are_joined_with_a_neighbour():
    lengths = [3] * 2 + [12] * 15 + [25] * 20 + [99] * 3
    buckets = bleu_by_length(["w " * length for length in lengths], HYPOTHESES, REFERENCES)
    assert [(bucket.low, bucket.high, bucket.count) for bucket in buckets] == [(1, 20, 17), (21, 100, 23)]


def test_small_corpus_is_one_bucket_with_blank_sources():
    buckets = bleu_by_length(["", "w " * 11], HYPOTHESES[:2], REFERENCES[:2])
    assert [(bucket.low, bucket.high, bucket.count) for bucket in buckets] == [(1, 2 * BUCKET_WIDTH, 2)]


def test_importing_metrics_loads_neither_sacrebleu_nor_torch():
    code = "import sys, regard.metrics; print({'sacrebleu', 'torch'} & set(sys.modules))"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300).stdout
        == "set()\n"
    )


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("고양이가 잔다. OK 3", "ko"),
        ("猫が眠っている。", "ja"),
        ("貓在睡覺。", "zh"),
        ("我用「カ」一字寫了一本關於日本文字的書。", "zh"),
        ("The cat said 고양이.", ""),
        ("Кошка спит.", ""),
        ("123 !?", ""),
        ("", ""),
    ],
)
def test_script_decides_languages_with_other_tokenisation(text: str, language: str) -> None:
    assert language_by_script([text]) == language


@pytest.mark.parametrize("metric", ["BLEU", "chrF2", "TER"])
def test_resamples_that_score_zero_have_an_interval(metric: Metric) -> None:
    hypotheses, references = ["a b c d e", *["z"] * 5], ["a b c d e", *["q w x r t"] * 5]
    [score] = evaluate(hypotheses, references, tokenize="none", wanted=(metric,))
    assert score.low <= score.value <= score.high
    assert "bs:1000|seed:12345" in score.signature
