"""How long a row of tokens may be in training: no longer than the filters let pass, or than there are positions for."""

from regard.config import Config, ModelConfig


def learnt_positions(model: ModelConfig) -> int | None:
    """How many positions a model learns, one of them for BEGIN or END; None where they are computed, and never end."""
    return getattr(model, "maximum_length", None) if getattr(model, "positions", "") == "learned" else None


def longest_row(config: Config) -> int:
    """The most tokens, without BEGIN and END, that an example may have however it is cut."""
    positions = learnt_positions(config.model)
    longest = config.data.maximum_length
    return longest if positions is None else min(longest, positions - 1)
