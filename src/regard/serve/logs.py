"""The log: one JSON object a line on standard error, each request with its id; never the text of a request."""

import logging
import re
import secrets
import sys
import time
import traceback
from typing import Any

import msgspec

LOGGER = logging.getLogger("regard.serve")
_IDENTITY = re.compile("[A-Za-z0-9._-]{1,64}")


class JsonLines(logging.Formatter):
    """Records as JSON lines."""

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        told |= getattr(record, "told", {})
        if record.exc_info:
            told["traceback"] = "".join(traceback.format_exception(*record.exc_info))
        return msgspec.json.encode(told).decode()


def start_logs() -> None:
    """Write our log, and uvicorn's, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("regard.serve", "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO if name == "regard.serve" else logging.WARNING)
    logging.getLogger("uvicorn.error").handlers = []
    logging.getLogger("uvicorn.error").propagate = True


def tell(message: str, **fields: Any) -> None:
    """One line of the log; where in the code it was told is not looked up, which would take as long as the rest."""
    if LOGGER.isEnabledFor(logging.INFO):
        record = LOGGER.makeRecord(LOGGER.name, logging.INFO, "", 0, message, (), None, extra={"told": fields})
        LOGGER.handle(record)


def tell_defect(message: str, **fields: Any) -> None:
    """One line with the traceback of the exception that is being handled."""
    LOGGER.error(message, extra={"told": fields}, exc_info=True)


def identity_of(given: str | None) -> str:
    """The request's id: the client's own, if it is a plain one."""
    return given if given is not None and _IDENTITY.fullmatch(given) else secrets.token_hex(8)
