"""Why a question got no answer."""

from __future__ import annotations


class NoAnswerError(Exception):
    """A request without an answer.

    `may_pass`: the same request may be answered later. `concerns_all`: any other question would
    fare the same now. `retry_after_seconds` is what the endpoint asked for, if it did.
    """

    def __init__(
        self,
        message: str,
        *,
        may_pass: bool,
        concerns_all: bool,
        retry_after_seconds: float | None = None,
    ) -> None:
        self.may_pass = may_pass
        self.concerns_all = concerns_all
        self.retry_after_seconds = retry_after_seconds
        super().__init__(message)


class PausedError(Exception):
    """Nobody is asked at present; says why."""
