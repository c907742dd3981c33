"""A judge's endpoint as a real HTTP server, which can misbehave in every way.

    with JudgeServer({"rating": 3}) as server:
        server.script = [fails(429, {"Retry-After": "1"}), says("not JSON")]
        judge = Judge(server.settings(), environment={})

What is scripted happens once, a request each; afterwards every request gets the default answer. It
may be stopped and started again, on the same port.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from orchestrator_assets.judges.settings import JudgeSettings

USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
_LONGEST_WAIT_SECONDS = 30.0


@dataclass(frozen=True)
class JudgeRequest:
    """A question as it came in."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def prompt(self) -> str:
        """The text of the question, all parts of it."""
        contents = [message["content"] for message in self.body["messages"]]
        parts = [
            [{"type": "text", "text": each}] if isinstance(each, str) else each for each in contents
        ]
        return "\n".join(part["text"] for each in parts for part in each if part["type"] == "text")

    @property
    def audio(self) -> bytes | None:
        """The WAV file that came with it."""
        for message in self.body["messages"]:
            for part in message["content"] if isinstance(message["content"], list) else []:
                if part["type"] == "input_audio":
                    return base64.b64decode(part["input_audio"]["data"])
        return None


Behaviour = Callable[["_Handler", JudgeRequest], None]
Default = dict[str, Any] | Callable[[JudgeRequest], dict[str, Any]]


def answers(value: Any, **fields: Any) -> Behaviour:
    """Answer with a value as JSON; `fields` as in `completion`."""
    return says(json.dumps(value), **fields)


def says(content: Any, **fields: Any) -> Behaviour:
    """Answer with this text; `fields` as in `completion`."""
    return sends(json.dumps(completion(content, **fields)).encode())


def completion(
    content: Any,
    *,
    finish_reason: str | None = "stop",
    refusal: str | None = None,
    usage: Any = USAGE,
) -> dict[str, Any]:
    """Return a chat completion as OpenAI's API has it. `usage` None leaves it out."""
    message = {"role": "assistant", "content": content, "refusal": refusal}
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "served-model",
        "choices": [choice],
    }
    return body if usage is None else {**body, "usage": usage}


def sends(
    body: bytes,
    *,
    status: int = 200,
    content_type: str = "application/json",
    headers: Mapping[str, str] | None = None,
) -> Behaviour:
    """Answer with these bytes."""

    def behave(handler: _Handler, _: JudgeRequest) -> None:
        handler.begin(
            status,
            {"Content-Type": content_type, "Content-Length": str(len(body)), **(headers or {})},
        )
        handler.wfile.write(body)

    return behave


def fails(status: int, headers: Mapping[str, str] | None = None, message: str = "no") -> Behaviour:
    """Refuse with an HTTP status and OpenAI's error body."""
    body = json.dumps({"error": {"message": message, "type": "t", "code": None}}).encode()
    return sends(body, status=status, headers=headers)


def redirects(location: str, status: int = 307) -> Behaviour:
    """Point elsewhere."""
    return fails(status, {"Location": location})


def hangs() -> Behaviour:
    """Take the question and say nothing until the server stops."""

    def behave(handler: _Handler, _: JudgeRequest) -> None:
        handler.owner.stopping.wait(_LONGEST_WAIT_SECONDS)

    return behave


def holds(until: threading.Event, value: Any) -> Behaviour:
    """Answer with a value once the event is set."""

    def behave(handler: _Handler, request: JudgeRequest) -> None:
        until.wait(_LONGEST_WAIT_SECONDS)
        answers(value)(handler, request)

    return behave


def drips() -> Behaviour:
    """Send a byte every 20 ms, for ever."""

    def behave(handler: _Handler, _: JudgeRequest) -> None:
        handler.begin(200, {"Content-Type": "application/json", "Content-Length": "100000"})
        while not handler.owner.stopping.wait(0.02):
            handler.wfile.write(b" ")
            handler.wfile.flush()

    return behave


def cuts_the_body() -> Behaviour:
    """Close the connection in the middle of a good answer."""

    def behave(handler: _Handler, _: JudgeRequest) -> None:
        body = json.dumps(completion('{"rating": 3}')).encode()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        handler.begin(200, headers)
        handler.wfile.write(body[: len(body) // 2])

    return behave


def closes() -> Behaviour:
    """Close the connection without a word."""

    def behave(handler: _Handler, _: JudgeRequest) -> None:
        handler.close_connection = True

    return behave


class JudgeServer:
    """The endpoint; a context manager. `requests` are the questions, `probes` other requests."""

    def __init__(self, default: Default, script: Iterable[Behaviour] = ()) -> None:
        self.default = default
        self.script: list[Behaviour] = list(script)
        self.models: Behaviour = sends(b'{"object": "list", "data": []}')
        self.requests: list[JudgeRequest] = []
        self.probes: list[JudgeRequest] = []
        self.live = 0
        self.most_live = 0
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self._server: _Server | None = None
        self.port = 0

    @property
    def base_url(self) -> str:
        """Where it listens, or did."""
        return f"http://127.0.0.1:{self.port}/v1"

    def settings(self, **fields: Any) -> JudgeSettings:
        """Return settings that reach it, and know no prices unless given."""
        return JudgeSettings(**{"model": "test-judge", "base_url": self.base_url, **fields})

    def start(self) -> None:
        """Listen, on the port it had before if there was one."""
        self.stopping.clear()
        self._server = _Server(self, self.port)
        self.port = int(self._server.server_address[1])
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()

    def stop(self) -> None:
        """Refuse connections from now on; what is being answered is cut off."""
        if self._server is not None:
            self.stopping.set()
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def behaviour_for(self, request: JudgeRequest) -> Behaviour:
        """Return what to do with a question, and note it."""
        with self._lock:
            self.requests.append(request)
            if self.script:
                return self.script.pop(0)
        return answers(self.default(request) if callable(self.default) else self.default)

    def count_live(self, change: int) -> None:
        """Note that a question came in (1) or was dealt with (-1)."""
        with self._lock:
            self.live += change
            self.most_live = max(self.most_live, self.live)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, owner: JudgeServer, port: int) -> None:
        self.owner = owner
        super().__init__(("127.0.0.1", port), _Handler)

    def handle_error(self, *_: object) -> None:
        """Say nothing of a client that has gone."""


class _Handler(BaseHTTPRequestHandler):
    # HTTP/1.0 closes after each answer, so that nobody is answered any more once it has stopped.

    @property
    def owner(self) -> JudgeServer:
        assert isinstance(self.server, _Server)
        return self.server.owner

    def do_GET(self) -> None:
        request = JudgeRequest(self.path, dict(self.headers), {})
        self.owner.probes.append(request)
        self.owner.models(self, request)

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        request = JudgeRequest(self.path, dict(self.headers), json.loads(self.rfile.read(length)))
        self.owner.count_live(1)
        try:
            self.owner.behaviour_for(request)(self, request)
        finally:
            self.owner.count_live(-1)

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the status line and the headers."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""
