"""The exceptions: MySQL's numbers and texts, and whether anything was committed."""

from __future__ import annotations

from typing import Dict, Literal, Tuple, Type

Outcome = Literal["not committed", "committed", "unknown"]


class Error(Exception):
    """The cluster, or the client, has refused an operation.

    An operation that failed has changed nothing, and its transaction goes on as it was before, unless
    `rolls_back_transaction` says that it is gone.
    """

    errno: int
    """MySQL's number."""
    sqlstate: str
    message: str
    outcome: Outcome
    """Whether it was committed. "unknown": the node that commits was lost before it answered."""
    rolls_back_transaction: bool
    """The whole transaction is gone; begin another one."""

    def __init__(
        self,
        errno: int,
        sqlstate: str,
        message: str,
        outcome: Outcome = "not committed",
        rolls_back_transaction: bool = False,
    ) -> None:
        super().__init__(errno, sqlstate, message, outcome, rolls_back_transaction)
        self.errno = errno
        self.sqlstate = sqlstate
        self.message = message
        self.outcome = outcome
        self.rolls_back_transaction = rolls_back_transaction

    def __str__(self) -> str:
        told = "" if self.outcome == "not committed" else f" (outcome: {self.outcome})"
        return f"ERROR {self.errno} ({self.sqlstate}): {self.message}{told}"


class DuplicateKeyError(Error):
    """1062: a row with this primary or unique key is there."""


class DeadlockError(Error):
    """1213: the transaction was rolled back because it and others waited for each other."""


class LockTimeoutError(Error):
    """1205, or 3572 for NOWAIT: another transaction holds the lock."""


class TemporaryError(Error):
    """1297: it may pass. A leader has changed, or nobody answers."""


_CLASSES: Dict[int, Type[Error]] = {
    1062: DuplicateKeyError,
    1205: LockTimeoutError,
    1213: DeadlockError,
    1297: TemporaryError,
    3572: LockTimeoutError,
}


def make(errno: int, sqlstate: str, message: str, outcome: Outcome, rolls_back_transaction: bool) -> Error:
    """The exception for an error of the client."""
    arguments: Tuple[int, str, str, Outcome, bool] = (errno, sqlstate, message, outcome, rolls_back_transaction)
    return _CLASSES.get(errno, Error)(*arguments)
