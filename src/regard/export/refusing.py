"""How an export says no: once, with every reason."""

from regard.errors import RegardError


def refuse(reasons: list[str], whose: str) -> None:
    """One error that lists all the reasons, if there is any."""
    if reasons:
        lines = "\n".join(f"  {reason}" for reason in reasons)
        raise RegardError(f"{whose} cannot hold this model:\n{lines}\nTrain another one, or use the torch engine.")
