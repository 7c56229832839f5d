"""The log on standard error: JSON lines, each request with its id; at a terminal plain lines, without what went well.

The text of a request is never told.
"""

import logging
import re
import secrets
import sys
import time
import traceback
from typing import Any

import msgspec

LOGGER = logging.getLogger("regard.serve")
REFUSED = 400  # the lowest status of a request that was
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


class PlainLines(logging.Formatter):
    """Records for whoever sits at the terminal."""

    def format(self, record: logging.LogRecord) -> str:
        told = [f"{name}={value}" for name, value in getattr(record, "told", {}).items()]
        line = " ".join([time.strftime("%H:%M:%S", time.localtime(record.created)), record.getMessage(), *told])
        return line + ("\n" + self.formatException(record.exc_info) if record.exc_info else "")


def went_well(record: logging.LogRecord) -> bool:
    """Whether a record tells of a request that was answered; a page alone makes a hundred of them."""
    return bool(getattr(record, "told", {}).get("status", REFUSED) < REFUSED)


def start_logs() -> None:
    """Write our log, and uvicorn's, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    if sys.stderr.isatty():
        handler.setFormatter(PlainLines())
        handler.addFilter(lambda record: not went_well(record))
    else:
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


def tell_problem(message: str, **fields: Any) -> None:
    """One line of what somebody has to see to."""
    LOGGER.error(message, extra={"told": fields})


def tell_defect(message: str, **fields: Any) -> None:
    """One line with the traceback of the exception that is being handled."""
    LOGGER.error(message, extra={"told": fields}, exc_info=True)


def identity_of(given: str | None) -> str:
    """The request's id: the client's own, if it is a plain one."""
    return given if given is not None and _IDENTITY.fullmatch(given) else secrets.token_hex(8)
