"""Traces are kept while there is room."""

import pytest
import torch

from regard.bundle import Bundle, new_bundle
from regard.config import Config, Stack, TransformerConfig
from regard.serve.refusals import Refusal
from regard.serve.traces import Traces, bytes_of
from regard.tokens import Tokenizer, Tokenizers
from regard.translation.trace import Trace, trace_texts


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    torch.manual_seed(0)
    stack = Stack(layers=1, width=8, heads=2, inner=8)
    tokenizer = Tokenizer.train(["one two three"] * 3, kind="word", size=16)
    bundle = new_bundle(Config(model=TransformerConfig(encoder=stack, decoder=stack)), Tokenizers(tokenizer, tokenizer))
    bundle.model.eval()
    return bundle


def some_trace(bundle: Bundle) -> Trace:
    return trace_texts(bundle, "one two", "three")


def test_the_one_not_asked_for_longest_goes_first(bundle: Bundle) -> None:
    trace = some_trace(bundle)
    traces = Traces(room=int(2.5 * bytes_of(trace)))
    first, second = traces.keep(trace), traces.keep(some_trace(bundle))
    assert traces.get(first) is trace
    third = traces.keep(some_trace(bundle))
    with pytest.raises(Refusal) as refused:
        traces.get(second)
    assert (refused.value.status, refused.value.code) == (404, "trace_gone")
    assert traces.get(first) is trace
    assert traces.get(third) is not trace
    assert traces.bytes == 2 * bytes_of(trace)


def test_one_that_is_larger_than_the_room_is_kept_until_the_next(bundle: Bundle) -> None:
    traces = Traces(room=1)
    first = traces.keep(some_trace(bundle))
    traces.get(first)
    traces.keep(some_trace(bundle))
    with pytest.raises(Refusal):
        traces.get(first)


def test_a_size_counts_arrays_and_not_the_model(bundle: Bundle) -> None:
    longer = trace_texts(bundle, "one two " * 20, "three")
    assert bytes_of(longer) > 5 * bytes_of(some_trace(bundle)) > 0
