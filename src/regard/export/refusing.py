"""How an export says no: once, with every reason."""

from collections.abc import Iterable

from torch import Tensor

from regard.errors import RegardError


def refuse(reasons: list[str], whose: str, *, settings: Iterable[str] = ()) -> None:
    """One error that lists all the reasons, if there is any; with the settings a model would have none against it."""
    if reasons:
        lines = "\n".join(f"  {reason}" for reason in reasons)
        changed = "".join(f" --set {setting}" for setting in settings)
        another = f"Train another one with{changed}" if changed else "Train another one"
        raise RegardError(f"{whose} cannot hold this model:\n{lines}\n{another}, or use the torch engine.")


def refuse_what_is_not_finite(tensors: dict[str, Tensor]) -> None:
    """Weights of a training that diverged: every output of theirs is nonsense, and no other program says why."""
    broken = [name for name, tensor in tensors.items() if not bool(tensor.isfinite().all())]
    if broken:
        more = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
        raise RegardError(
            f"the model has weights that are not finite numbers: {broken[0]}{more}. Its training diverged: train it "
            "again with a lower training.learning_rate, or export the model of another run."
        )
