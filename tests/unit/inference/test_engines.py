"""Whoever decodes: batches lose no row, lines keep their order, and an export is used without torch."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.bundle import Bundle
from regard.config import DecodingConfig, TransformerConfig, TransformerStackConfig
from regard.errors import RegardError
from regard.inference import ctranslate2_engine
from regard.inference.interface import batches_by_length
from regard.inference.open import load
from regard.inference.translator import Translator
from regard.interop.ctranslate2 import export_ctranslate2
from tests.support.random_translators import random_translator, texts

STACK = TransformerStackConfig(layers=1, width=24, heads=2, ffn_width=20)
LINES = [*texts(9), "", "   ", *texts(5)]


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return random_translator(TransformerConfig(encoder=STACK, decoder=STACK, norm="pre"))


@pytest.fixture(scope="module")
def export(bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("ctranslate2", reason="CTranslate2 is not installed")
    directory = tmp_path_factory.mktemp("engines") / "export"
    export_ctranslate2(bundle, directory, quantization="float32")
    return directory


@given(st.lists(st.integers(1, 30), max_size=40), st.integers(1, 100))
def test_batches_hold_every_row_once_within_budget(lengths: list[int], budget: int) -> None:
    rows = [[7] * length for length in lengths]
    batches = list(batches_by_length(rows, budget))
    assert sorted(place for batch in batches for place in batch) == list(range(len(rows)))
    for batch in batches:
        longest = max(lengths[place] for place in batch) + 1  # END is a token too
        assert len(batch) == 1 or longest * len(batch) <= budget
    heads = [max(lengths[place] for place in batch) for batch in batches]
    assert heads == sorted(heads, reverse=True)


@pytest.mark.parametrize("beam", [1, 3])
def test_lines_keep_order_with_any_engine_and_chunk(
    bundle: Bundle, export: Path, beam: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = [Translator(bundle).translate([line], beam_size=beam)[0].text for line in LINES]
    monkeypatch.setattr(ctranslate2_engine, "BATCH_TOKENS", 20)
    for size in (1, 4, 100):
        monkeypatch.setattr("regard.inference.translator.CHUNK_LINES", size)
        for translator in (Translator(bundle), load(export)):
            done: list[int] = []
            outputs = translator.translate_lines(
                LINES, translator.decoding_config(beam_size=beam, nbest=1), progress=done.append
            )
            assert [own[0].text for own in outputs] == alone
            assert sum(done) == len(LINES)


def test_lookahead_engine_is_called_one_chunk_early(export: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.inference.translator.CHUNK_LINES", 2)
    asked: list[str] = []
    translator = load(export)
    outputs = translator.translate_lines(
        (asked.append(line) or line for line in LINES), translator.decoding_config(beam_size=1)
    )
    next(outputs)
    assert len(asked) == 4


def test_the_same_records_with_either_engine(bundle: Bundle, export: Path) -> None:
    options = {"beam_size": 4, "nbest": 3}
    for own, other in zip(
        Translator(bundle).nbest(LINES, **options), load(export).nbest(LINES, **options), strict=True
    ):
        assert [one.tokens for one in own] == [one.tokens for one in other]
        assert [one.score for one in own] == pytest.approx([one.score for one in other], abs=1e-3)
        assert [one.log_probability for one in own] == pytest.approx([one.log_probability for one in other], abs=1e-2)


def test_too_long_line_is_cut_by_either_engine(bundle: Bundle, export: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.config.MAX_SOURCE_TOKENS", 4)
    cut = [
        [one.is_truncated for one in engine.translate(LINES, beam_size=1)]
        for engine in (Translator(bundle), load(export))
    ]
    assert cut[0] == cut[1] == [len(line.split()) > 4 for line in LINES]


@pytest.mark.parametrize("options", [{"do_sample": True}])
def test_options_unsupported_by_ctranslate2_are_refused(export: Path, options: dict[str, object]) -> None:
    with pytest.raises(RegardError, match=f"(?s){next(iter(options))}.*Use the torch engine"):
        load(export).translate(LINES, **options)


def test_loading_an_export_leaves_torch_its_threads(export: Path) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        load(export)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("beam", [1, 3])
def test_text_is_the_same_without_scores(bundle: Bundle, export: Path, beam: int) -> None:
    for translator in (Translator(bundle), load(export)):
        config = translator.decoding_config(beam_size=beam)
        result, silent = (list(translator.translate_lines(LINES, config, scores=scores)) for scores in (True, False))
        assert [own[0].text for own in silent] == [own[0].text for own in result]
        assert all(own[0].score < 0 for own in result if own[0].text)


def test_single_text_instead_of_list_is_refused(bundle: Bundle, export: Path) -> None:
    for translator in (Translator(bundle), load(export)):
        with pytest.raises(RegardError, match="a list of texts"):
            translator.translate("ba be")


def test_an_export_is_used_without_torch(export: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from regard.inference.open import load\n"
        f"opened = load(Path({str(export)!r}))\n"
        "print(opened.translate(['ba be'])[0].text)\n"
        "assert 'torch' not in sys.modules, 'torch was imported'"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=300)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip()


def test_an_engine_of_ones_own_is_enough(bundle: Bundle) -> None:
    """The protocol is all that a translator asks of its engine."""

    class Parrot:
        name, description, max_positions, is_asynchronous = "parrot", "parrot", None, False

        def decode(self, rows, config, *, scores):  # type: ignore[no-untyped-def]  # noqa: ARG002
            from regard.decoding.hypothesis import Hypothesis
            from regard.inference.interface import DecodedRows

            for place, row in enumerate(rows):
                yield DecodedRows([place], [[Hypothesis([row[0] % 40 + 5], -1.0, -2.0, True)]])

    translator = Translator(bundle, engine=Parrot())
    assert [bool(output.text) for output in translator.translate(LINES)] == [bool(line.strip()) for line in LINES]
    assert translator.decoding_config(beam_size=2) == DecodingConfig(beam_size=2)
