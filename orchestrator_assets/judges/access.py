"""Which model is asked, where, and with which key: from the settings, else the environment."""

from __future__ import annotations

import base64
import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit, urlunsplit

from orchestrator_assets.errors import JudgeError
from orchestrator_assets.judges.settings import JudgeSettings
from orchestrator_assets.redaction import REDACTED, redacted_url

OPENAI_BASE_URL = "https://api.openai.com/v1"

_NO_KEY = "none"
_SHORTEST_SECRET = 6


@dataclass(frozen=True, slots=True)
class Access:
    """How a judge is reached. `base_url` holds no credentials; the headers and the key do."""

    model: str
    base_url: str
    api_key: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    key_source: str
    """Where the key comes from, to be named where it is refused."""

    def redacted(self, text: str) -> str:
        """Return a text, such as an endpoint's complaint, without the credentials."""
        authorization = self.headers.get("Authorization", "").rpartition(" ")[2]
        for secret in (self.api_key, authorization):
            if len(secret) >= _SHORTEST_SECRET:
                text = text.replace(secret, REDACTED)
        return text


def access_to(
    settings: JudgeSettings, *, environment: Mapping[str, str] | None = None, name: str = "judge"
) -> Access:
    """Return how the judge of these settings is reached; `name` is what the evaluation calls it.

    An endpoint on this machine or in a private network may do without a key. Raises JudgeError
    that names everything which is missing or can't be used.
    """
    if environment is None:
        environment = os.environ
    model = settings.model or environment.get(settings.model_env, "").strip()
    url = settings.base_url or environment.get(settings.base_url_env, "").strip()
    key = environment.get(settings.api_key_env, "").strip()
    base_url, credentials, fault = _split(url or OPENAI_BASE_URL)
    faults = []
    if not model:
        faults.append(f"no model; set {name}.model, or ${settings.model_env} in the environment")
    if fault is not None:
        faults.append(fault)
    elif not key and not credentials and not _may_lack_a_key(base_url):
        faults.append(f"no key for {base_url}; set ${settings.api_key_env} in the environment")
    if not (key.isascii() and key.isprintable()):
        faults.append(f"${settings.api_key_env} holds characters that no key has")
    if faults:
        raise JudgeError(f"{name}: {'; '.join(faults)}")
    # A user and a password in the URL are what the endpoint wants to see instead of a key.
    return Access(
        model=model,
        base_url=base_url,
        api_key=key or _NO_KEY,
        headers={"Authorization": f"Basic {credentials}"} if credentials else {},
        key_source="the user in its base_url" if credentials else f"${settings.api_key_env}",
    )


def _split(url: str) -> tuple[str, str, str | None]:
    """Return the URL without user and password, those for a header, and what is wrong with it."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return url, "", "base_url is no URL"
    shown = redacted_url(url)
    if not usable:
        return url, "", f"base_url {shown!r} is no http:// or https:// URL"
    if parts.query or parts.fragment:
        return url, "", f"base_url {shown!r} must end before the `?` or `#`"
    user, at, host = parts.netloc.rpartition("@")
    credentials = base64.b64encode(unquote(user).encode("utf-8")).decode("ascii") if at else ""
    return urlunsplit(parts._replace(netloc=host)).rstrip("/"), credentials, None


def _may_lack_a_key(base_url: str) -> bool:
    host = urlsplit(base_url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        # A name without a dot is in the local network.
        return "." not in host or host.endswith((".localhost", ".local", ".internal"))
