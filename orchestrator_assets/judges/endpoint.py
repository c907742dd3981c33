"""One request to an OpenAI-compatible endpoint, and what it means if there is no answer.

The `openai` client would repeat a request by itself, but not the way a long run needs it: its
timeout is one of each read, so that an endpoint that drips is waited for without end; it does not
try again at all where it is told to wait more than two minutes; and nobody is told of what it
repeats. So each request is made once here, under a timeout of its own, and repeated by the judge.

Importing the client takes a second: this module is imported by who makes a judge, and when.
"""

from __future__ import annotations

import asyncio
import email.utils
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urljoin

from openai import (
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    AsyncOpenAI,
    DefaultAsyncHttpxClient,
    OpenAIError,
)

from orchestrator_assets.judges.access import Access
from orchestrator_assets.judges.failures import NoAnswerError
from orchestrator_assets.redaction import redacted_url
from orchestrator_assets.store.atomic import without_lone_surrogates

_LONGEST_MESSAGE = 500
_PASSING_STATUSES = frozenset({408, 409, 425, 429})
_WRONG_FOR_ALL_STATUSES = frozenset({401, 404})


class Endpoint:
    """Where a judge listens. Belongs to the event loop it is first used in; `aclose()` it there."""

    def __init__(self, access: Access, timeout_seconds: float) -> None:
        self._access = access
        self._timeout_seconds = timeout_seconds
        self._client = AsyncOpenAI(
            api_key=access.api_key,
            base_url=access.base_url,
            default_headers=dict(access.headers),
            timeout=timeout_seconds,
            max_retries=0,
            # Whoever is pointed elsewhere shall say so: conversations go where the user wants them.
            http_client=DefaultAsyncHttpxClient(follow_redirects=False),
        )

    async def complete(self, request: Mapping[str, Any]) -> bytes:
        """Return the body of the answer to a chat completions request. Raises NoAnswerError."""
        try:
            async with asyncio.timeout(self._timeout_seconds):
                response = await self._client.chat.completions.with_raw_response.create(**request)
                body: bytes = response.content
                return body
        except (TimeoutError, APITimeoutError):
            message = f"no answer within {self._timeout_seconds:g} s"
            raise NoAnswerError(message, may_pass=True, concerns_all=True) from None
        except APIStatusError as error:
            raise self._refused(error) from None
        except APIConnectionError as error:
            message = self._shown(f"the connection failed: {error.__cause__ or error}")
            raise NoAnswerError(message, may_pass=True, concerns_all=True) from None
        except OpenAIError as error:
            message = self._shown(f"{type(error).__name__}: {error}")
            raise NoAnswerError(message, may_pass=False, concerns_all=False) from None

    async def aclose(self) -> None:
        """Close its connections."""
        await self._client.close()

    def _refused(self, error: APIStatusError) -> NoAnswerError:
        status, headers = error.status_code, error.response.headers
        is_redirect = 300 <= status < 400
        is_busy = status in _PASSING_STATUSES or status >= 500
        may_pass = is_busy and headers.get("x-should-retry") != "false"
        said = f"HTTP {status}: {_said(error)}"
        if is_redirect:
            target = urljoin(f"{self._access.base_url}/", headers.get("location", ""))
            said = f"HTTP {status}: it points to {redacted_url(target)}; correct its base_url"
        elif status == 401:
            said += f"; is {self._access.key_source} right?"
        return NoAnswerError(
            self._shown(said),
            may_pass=may_pass,
            # A single question may be too long, or be held for offensive.
            concerns_all=is_busy or is_redirect or status in _WRONG_FOR_ALL_STATUSES,
            retry_after_seconds=_retry_after_seconds(headers) if may_pass else None,
        )

    def _shown(self, text: str) -> str:
        return without_lone_surrogates(self._access.redacted(text))[:_LONGEST_MESSAGE]


def _said(error: APIStatusError) -> str:
    body = error.body
    if isinstance(body, dict):
        # The client has unwrapped {"error": …}.
        body = body.get("message") or body
    return " ".join(str(body or error.message).split())


def _retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Return how long to wait (RFC 9110, 10.2.3: seconds or a date), None if it doesn't say."""
    for name, unit_seconds in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit_seconds
        except ValueError:
            continue
        return max(seconds, 0.0) if math.isfinite(seconds) else None
    try:
        until = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
        if until.tzinfo is None:
            until = until.replace(tzinfo=UTC)
        return max((until - datetime.now(UTC)).total_seconds(), 0.0)
    except (TypeError, ValueError, OverflowError):
        return None
