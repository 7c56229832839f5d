import gc

import pytest

from regard.starting import without_collecting


@pytest.mark.parametrize("is_enabled", [True, False])
def test_nothing_is_collected_within_and_afterwards_all_is_as_it_was(is_enabled: bool) -> None:
    was_enabled = gc.isenabled()
    (gc.enable if is_enabled else gc.disable)()
    try:
        with without_collecting():
            assert not gc.isenabled()
            kept = [[number] for number in range(10_000)]
        assert gc.isenabled() == is_enabled
        assert gc.get_freeze_count() > len(kept)  # what was made within is not looked through again
    finally:
        gc.unfreeze()
        (gc.enable if was_enabled else gc.disable)()


def test_garbage_is_still_found_after_an_error_within() -> None:
    with pytest.raises(ZeroDivisionError), without_collecting():
        _ = 1 / 0
    gc.unfreeze()
    assert gc.isenabled()
