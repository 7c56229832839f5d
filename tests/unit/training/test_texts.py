"""Training on text of one language: both kinds of model learn, stop and go on to the same bits, alone or together."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from regard.batch import Batch
from regard.errors import RegardError
from regard.special_tokens import END, MASK, PADDING
from regard.training.corpora import TextCorpus
from regard.training.events import (
    EventLog,
    ProbesSaved,
    TrainingStarted,
    Validated,
)
from regard.training.loop import TrainingInterrupted, train
from regard.training.validation import LABELS_FILE, ProbeLabels
from tests.support.small_language import READER, WRITER, language_config, turns, write_texts
from tests.support.small_run import corpus_of, run_to_the_end
from tests.unit.training.test_loop import weights_hash

KINDS = pytest.mark.parametrize("model", [WRITER, READER], ids=["writer", "reader"])
Model = dict[str, Any]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    write_texts(tmp_path)
    return tmp_path


@KINDS
def test_a_language_model_learns(texts: Path, model: Model) -> None:
    config = language_config(texts, model, steps=100, validate_every=50, checkpoint_every=100, learning_rate=0.01)
    validated = [event for event in run_to_the_end(config, texts / "run") if isinstance(event, Validated)]
    assert (
        validated[-1].loss < 1.1
    )  # ln 7 = 1.9 is a model that knows the words and the end, and nothing of their order
    assert (validated[-1].bleu, validated[-1].chrf) == (None, None)
    assert validated[-1].is_best
    given, whole, output = validated[-1].samples[0]
    assert given != whole
    assert output


@KINDS
@pytest.mark.parametrize(("stop_after", "accumulate"), [(5, 2), (8, 1)])
def test_stopped_run_resumes_bitwise(texts: Path, model: Model, stop_after: int, accumulate: int) -> None:
    config = language_config(texts, model, gradient_accumulation=accumulate)
    run_to_the_end(config, texts / "whole")
    signals = iter([None] * (stop_after - 1) + [15])
    with pytest.raises(TrainingInterrupted):
        list(train(config, texts / "parts", corpus_of(config, texts / "parts"), stop_signal=lambda: next(signals)))
    run_to_the_end(config, texts / "parts", resume=True)
    assert weights_hash(texts / "parts") == weights_hash(texts / "whole")


@KINDS
def test_the_journal_and_the_probes_have_one_side(texts: Path, model: Model) -> None:
    events = run_to_the_end(language_config(texts, model, probes=[turns(0, 3)]), texts / "run")
    assert EventLog(texts / "run" / "events.jsonl").read() == events
    assert isinstance(events[0], TrainingStarted)
    first = next(event for event in events if isinstance(event, ProbesSaved))
    [labels] = msgspec.json.decode((texts / "run" / first.path / LABELS_FILE).read_bytes(), type=list[ProbeLabels])
    words = [f"▁{word}" for word in turns(0, 3).split()]
    sides = ([], ["<s>", *words]) if model is WRITER else ([*words, "</s>"], [])
    assert (labels.source, labels.target) == sides


@KINDS
def test_held_out_validation_lines_are_never_trained_on(texts: Path, model: Model) -> None:
    lines = [f"{turns(start % 6, 3)} {start}" for start in range(300)]
    (texts / "train.ko").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    config = language_config(texts, model)
    config = msgspec.structs.replace(config, data=msgspec.structs.replace(config.data, valid=[]))
    corpus = corpus_of(config, texts / "run")
    assert isinstance(corpus, TextCorpus)
    assert 0 < len(corpus.valid) < 30
    store = corpus.prepared.store
    assert {store.text(index)[1] for index in range(len(store))} == set(lines) - set(corpus.valid)
    assert f"kept {len(store):,} of 300 lines" in corpus.describe()
    assert "lines are held out of the training files" in corpus.describe()
    assert corpus_of(config, texts / "run").valid == corpus.valid  # type: ignore[attr-defined]


def test_language_model_predicts_the_whole_line(texts: Path) -> None:
    config = language_config(texts, WRITER)
    corpus = corpus_of(config, texts / "run")
    batch = corpus.batch([0, 1], config, 0, device="cpu")
    assert batch.source.lengths == (1, 1)
    rows = [corpus.tokenizers.target.encode(turns(start, 3)) for start in range(2)]
    output = zip(batch.outputs.tokens.tolist(), batch.outputs.lengths, strict=True)
    assert [row[: length - 1] for row, length in output] == rows


def test_masked_tokens_vary_by_epoch_and_are_repeatable(texts: Path) -> None:
    config = language_config(texts, READER, mask_rate=0.4)
    corpus = corpus_of(config, texts / "run")
    first, again, later = (corpus.batch(range(24), config, epoch, device="cpu") for epoch in (0, 0, 1))
    assert first.outputs.tokens.tolist() == again.outputs.tokens.tolist() != later.outputs.tokens.tolist()
    assert first.inputs is None
    whole = [corpus.prepared.store[index].target_ids for index in range(24)]  # type: ignore[attr-defined]
    for row, given, wanted in zip(whole, first.source.tokens.tolist(), first.outputs.tokens.tolist(), strict=True):  # type: ignore[union-attr]
        assert given[len(row)] == END
        assert all(asked in (PADDING, token) for asked, token in zip(wanted, row, strict=False))
        assert all(seen == token for seen, asked, token in zip(given, wanted, row, strict=False) if asked == PADDING)
    assert MASK in first.source.tokens  # type: ignore[union-attr]


def test_masked_batch_predicts_only_masked_tokens() -> None:
    batch = Batch.masked([[7, MASK, 9], [MASK]], [[PADDING, 8, PADDING], [6]])
    assert batch.outputs.lengths == (1, 1)
    assert batch.outputs.is_real.tolist() == [[False, True, False, False], [True, False, False, False]]
    assert batch.source.tokens.tolist() == [[7, MASK, 9, END], [MASK, END, PADDING, PADDING]]  # type: ignore[union-attr]


@KINDS
def test_several_files_are_read_one_after_the_other(texts: Path, model: Model) -> None:
    config = language_config(texts, model)
    files = [str(texts / "train.ko"), str(texts / "valid.ko")]
    config = msgspec.structs.replace(config, data=msgspec.structs.replace(config.data, train=files))
    store = corpus_of(config, texts / "run").prepared.store  # type: ignore[attr-defined]
    lines = [line for file in files for line in Path(file).read_text(encoding="utf-8").splitlines()]
    assert [store.text(index)[1] for index in range(len(store))] == lines


@pytest.mark.parametrize(
    ("content", "result"),
    [
        (b"", "is empty. Give a file that contains lines of text"),
        (b"a\n\xff\n", "train.ko:2"),
        (b"\n \n", "no text to train a vocabulary on"),
    ],
)
def test_invalid_text_is_reported(texts: Path, content: bytes, result: str) -> None:
    (texts / "train.ko").write_bytes(content)
    with pytest.raises(RegardError, match=result):
        corpus_of(language_config(texts, WRITER), texts / "run")


def test_lines_round_trip_with_any_separators(texts: Path) -> None:
    (texts / "train.ko").write_bytes("가 나\r\n\r\n다\u2028라 가\n\ufeff나 다".encode())
    store = corpus_of(language_config(texts, WRITER), texts / "run").prepared.store  # type: ignore[attr-defined]
    assert store.report.read == 4
    assert store.report.dropped["blank"] == 1
