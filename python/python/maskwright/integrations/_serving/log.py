"""The log of the adapters of servers: a logger named `maskwright`, whose lines look like the server's own, with that name in front."""

from __future__ import annotations

import logging

LOG = logging.getLogger("maskwright")


def follow(host: logging.Logger) -> None:
    """Sends lines where `host` sends its own. Without effect if somebody has set up `LOG`."""
    if LOG.handlers or LOG.filters or LOG.level:
        return
    # Formats of servers have no name of a logger in them.
    LOG.addFilter(_named)
    LOG.setLevel(host.getEffectiveLevel())
    owner: logging.Logger | None = host
    while owner is not None and not owner.handlers and owner.propagate:
        owner = owner.parent
    # The root's handlers get the lines anyway.
    if owner is not None and owner.parent is not None:
        LOG.handlers = list(owner.handlers)
        LOG.propagate = False


def leave_out(host: logging.Logger, kind: type[BaseException]) -> None:
    """Drops the lines, and so the tracebacks, that `host` writes of exceptions of a kind, which have had a line here."""

    def is_other(record: logging.LogRecord) -> bool:
        return not (record.exc_info and isinstance(record.exc_info[1], kind))

    owner: logging.Logger | None = host
    while owner is not None:
        for handler in owner.handlers:
            handler.addFilter(is_other)
        owner = owner.parent if owner.propagate else None


def _named(record: logging.LogRecord) -> bool:
    record.msg, record.args = f"{record.name}: {record.getMessage()}", None
    return True
