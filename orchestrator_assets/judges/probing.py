"""Whether a judge can be reached, found out without asking it anything."""

from __future__ import annotations

from dataclasses import dataclass

import httpx

from orchestrator_assets.judges.access import Access

PROBE_SECONDS = 10.0

_REFUSED_STATUSES = frozenset({401, 403})


@dataclass(frozen=True, slots=True)
class Complaint:
    """What is wrong with a judge. If it is no fault, it may have passed when it is needed."""

    message: str
    is_fault: bool


async def probe(access: Access, name: str) -> list[Complaint]:
    """Ask for the list of models, which costs nothing, and return what is wrong.

    Endpoints need not have such a list: any answer that does not refuse the key will do. `name` is
    what the evaluation calls the judge.
    """
    where = f"{name} at {access.base_url}"
    headers = {"Authorization": f"Bearer {access.api_key}", **access.headers}
    try:
        async with httpx.AsyncClient(timeout=PROBE_SECONDS, headers=headers) as client:
            status = (await client.get(f"{access.base_url}/models")).status_code
    except httpx.TimeoutException:
        return [Complaint(f"{where} does not answer within {PROBE_SECONDS:g} s", is_fault=True)]
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        shown = access.redacted(str(error) or type(error).__name__)
        return [Complaint(f"{where} can't be reached: {shown}; is its base_url right?", True)]
    if status in _REFUSED_STATUSES:
        message = f"{where} refuses the key (HTTP {status}); is {access.key_source} right?"
        return [Complaint(message, is_fault=True)]
    if status == httpx.codes.TOO_MANY_REQUESTS or status >= httpx.codes.INTERNAL_SERVER_ERROR:
        return [Complaint(f"{where} is busy or out of order (HTTP {status})", is_fault=False)]
    return []
