"""Traces are kept while there is room."""

import pytest
import torch

from regard.bundle import Bundle, new_bundle
from regard.config import Config, TransformerConfig, TransformerStackConfig
from regard.server.api.traces import TraceCache, trace_bytes
from regard.server.errors import ApiError
from regard.tokenization.tokenizer import Tokenizer, TokenizerPair
from regard.tracing.trace import Trace, trace_texts


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    torch.manual_seed(0)
    stack = TransformerStackConfig(layers=1, width=8, heads=2, ffn_width=8)
    tokenizer = Tokenizer.train(["one two three"] * 3, model_type="word", vocab_size=16)
    bundle = new_bundle(
        Config(model=TransformerConfig(encoder=stack, decoder=stack)), TokenizerPair(tokenizer, tokenizer)
    )
    bundle.model.eval()
    return bundle


def some_trace(bundle: Bundle) -> Trace:
    return trace_texts(bundle, "one two", "three")


def test_least_recently_used_trace_is_evicted_first(bundle: Bundle) -> None:
    trace = some_trace(bundle)
    traces = TraceCache(max_bytes=int(2.5 * trace_bytes(trace)))
    first, second = traces.put(trace), traces.put(some_trace(bundle))
    assert traces.get(first) is trace
    third = traces.put(some_trace(bundle))
    with pytest.raises(ApiError) as refused:
        traces.get(second)
    assert (refused.value.status, refused.value.code) == (404, "trace_gone")
    assert traces.get(first) is trace
    assert traces.get(third) is not trace
    assert traces.bytes == 2 * trace_bytes(trace)


def test_oversized_trace_is_kept_until_the_next(bundle: Bundle) -> None:
    traces = TraceCache(max_bytes=1)
    first = traces.put(some_trace(bundle))
    traces.get(first)
    traces.put(some_trace(bundle))
    with pytest.raises(ApiError):
        traces.get(first)


def test_a_size_counts_arrays_and_not_the_model(bundle: Bundle) -> None:
    longer = trace_texts(bundle, "one two " * 20, "three")
    assert trace_bytes(longer) > 5 * trace_bytes(some_trace(bundle)) > 0
