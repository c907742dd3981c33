"""Asks a language model for a verdict, and takes nothing but a usable one for an answer."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from orchestrator_assets.audio.samples import Samples
from orchestrator_assets.errors import JudgeError
from orchestrator_assets.judges.access import access_to
from orchestrator_assets.judges.answers import AnswerModel, Reply, read_reply
from orchestrator_assets.judges.failures import NoAnswerError, PausedError
from orchestrator_assets.judges.ledger import CallOutcome, JudgeCall, append_judge_call
from orchestrator_assets.judges.outage import Outage, Passage
from orchestrator_assets.judges.prompt import Prompt
from orchestrator_assets.judges.question import chat_request
from orchestrator_assets.judges.settings import JudgeSettings
from orchestrator_assets.judges.use import JudgeUse
from orchestrator_assets.store.atomic import without_lone_surrogates

_FIRST_WAIT_SECONDS = 1.0
_LONGEST_WAIT_SECONDS = 60.0
_STRETCH = 0.25
_LONGEST_RAW_ANSWER = 20_000
_LONGEST_MESSAGE = 1_000
_THREADS = 4

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Judgement(Generic[AnswerModel]):
    """A verdict, what it took, and the hash of the prompt and schema it answers."""

    answer: AnswerModel
    use: JudgeUse
    prompt_hash: str


@dataclass(slots=True)
class _Question:
    metric: str
    prompt: Prompt
    prompt_hash: str
    directory: Path
    build: Callable[[], Mapping[str, Any]]
    uses: list[JudgeUse] = field(default_factory=list)
    raw_answer: str | None = None


@dataclass(frozen=True, slots=True)
class _Received:
    body: bytes
    at: datetime
    seconds: float


class Judge:
    """A model behind an OpenAI-compatible endpoint. Lives in one event loop, until `aclose()`.

    `settings.max_concurrent_requests` questions are asked at once, the others wait for a place. A
    request that gets no answer is repeated, after as long as the endpoint asks for or longer and
    longer waits; a question keeps its place meanwhile, so that a busy endpoint is asked less. Once
    one went without an answer altogether, others fail at once for a while: see `Outage`.
    """

    def __init__(
        self,
        settings: JudgeSettings,
        *,
        environment: Mapping[str, str] | None = None,
        name: str = "judge",
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Raises JudgeError where model or key is missing; `name` is the evaluation's for it."""
        self._settings = settings
        self._access = access_to(settings, environment=environment, name=name)
        from orchestrator_assets.judges.endpoint import Endpoint  # noqa: PLC0415 - it takes a second

        self._endpoint = Endpoint(self._access, settings.timeout_seconds)
        # Its own, for the loop's threads may all be busy listening to calls.
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="judge")
        self._places = asyncio.Semaphore(settings.max_concurrent_requests)
        self._outage = Outage(settings.outage_pause_seconds, clock)
        self._sleep = sleep
        self.model = self._access.model

    async def ask(
        self,
        prompt: Prompt,
        values: Mapping[str, str],
        answer: type[AnswerModel],
        *,
        metric: str,
        directory: Path,
        audio: Samples | None = None,
        audio_sample_rate_hz: int = 16_000,
    ) -> Judgement[AnswerModel]:
        """Return the model's answer to the prompt with these values, for `metric`.

        `answer` says what an answer looks like; put bounds into its fields. `audio` is mono PCM16.
        Each request becomes a line in the ledger of the conversation in `directory`. Raises
        JudgeError, with what was spent, where there is no answer, or none of
        `settings.answer_tries` can be used; ValueError where the prompt lacks a value; OSError
        where the ledger can't be written to.
        """
        build = partial(
            chat_request,
            self._settings,
            self.model,
            prompt.filled(values),
            answer,
            audio=audio,
            audio_sample_rate_hz=audio_sample_rate_hz,
        )
        question = _Question(metric, prompt, prompt.hash_for(answer), directory, build)
        tries = self._settings.answer_tries
        fault: str | None = None
        for _ in range(tries):
            received = await self._received(question)
            # What was paid for is noted even if nobody waits for it any more.
            reply = await asyncio.shield(self._read(question, received, answer))
            if reply.answer is not None:
                return Judgement(reply.answer, self._use(question), question.prompt_hash)
            fault = reply.fault
        asked = "" if tries == 1 else f", asked {tries} times"
        raise self._error(question, f"its answer {fault}{asked}")

    async def aclose(self) -> None:
        """Close the connections."""
        await self._endpoint.aclose()
        self._threads.shutdown(wait=False)

    def _in_thread(self, work: Callable[[], _T]) -> asyncio.Future[_T]:
        return asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def _received(self, question: _Question) -> _Received:
        """Return what the endpoint sends. Raises JudgeError if it sends nothing."""
        try:
            async with self._places, self._outage.passage() as passage:
                # Not before it has its place: a recording takes much memory.
                request = await self._in_thread(question.build)
                return await self._with_retries(question, request, passage)
        except (PausedError, NoAnswerError) as error:
            raise self._error(question, str(error)) from None

    async def _with_retries(
        self, question: _Question, request: Mapping[str, Any], passage: Passage
    ) -> _Received:
        retries_left = 0 if passage.is_probe else self._settings.max_retries
        waits = _waits_seconds()
        while True:
            try:
                received = await self._once(question, request)
            except NoAnswerError as error:
                wait = _wait_seconds(next(waits), error.retry_after_seconds)
                if not retries_left or not error.may_pass or wait is None:
                    self._unanswered(passage, error, wait)
                    raise
                retries_left -= 1
                await self._sleep(wait)
                await self._outage.over()
            else:
                self._outage.answered()
                return received

    def _unanswered(self, passage: Passage, error: NoAnswerError, wait: float | None) -> None:
        if not error.concerns_all:
            self._outage.answered()
            return
        too_long = error.retry_after_seconds if wait is None else None
        self._outage.unanswered(passage, str(error), too_long or 0.0)

    async def _once(self, question: _Question, request: Mapping[str, Any]) -> _Received:
        """Make the request. What goes without an answer is noted before NoAnswerError is raised."""
        at, started = datetime.now(UTC), time.monotonic()

        async def note(error: str) -> None:
            seconds = time.monotonic() - started
            await self._note(question, at, seconds, CallOutcome.NO_ANSWER, error=error)

        try:
            body = await self._endpoint.complete(request)
        except NoAnswerError as error:
            await note(str(error))
            raise
        except asyncio.CancelledError:
            with suppress(OSError):
                await note("cancelled")
            raise
        return _Received(body, at, time.monotonic() - started)

    async def _read(
        self, question: _Question, received: _Received, answer: type[AnswerModel]
    ) -> Reply[AnswerModel]:
        """Return what was received, once it is in the ledger."""
        reply = await self._in_thread(partial(read_reply, received.body, answer))
        if reply.answer is None:
            question.raw_answer = self._shown(reply.raw)
        outcome = CallOutcome.UNUSABLE_ANSWER if reply.answer is None else CallOutcome.ANSWERED
        call = await self._note(
            question,
            received.at,
            received.seconds,
            outcome,
            error=(
                None
                if reply.fault is None
                else self._shown(f"its answer {reply.fault}", _LONGEST_MESSAGE)
            ),
            raw_answer=None if reply.answer is not None else question.raw_answer,
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
            cost_usd=self._cost_usd(reply.input_tokens, reply.output_tokens),
        )
        question.uses.append(call.use)
        return reply

    async def _note(
        self,
        question: _Question,
        at: datetime,
        seconds: float,
        outcome: CallOutcome,
        **fields: Any,
    ) -> JudgeCall:
        call = JudgeCall(
            at=at,
            metric=question.metric,
            model=self.model,
            prompt=question.prompt.name,
            prompt_version=question.prompt.version,
            prompt_hash=question.prompt_hash,
            seconds=round(seconds, 3),
            outcome=outcome,
            **fields,
        )
        await asyncio.shield(self._in_thread(partial(append_judge_call, question.directory, call)))
        return call

    def _cost_usd(self, input_tokens: int | None, output_tokens: int | None) -> float | None:
        input_price = self._settings.input_usd_per_million_tokens
        output_price = self._settings.output_usd_per_million_tokens
        if input_price is None or output_price is None:
            return None
        if input_tokens is None or output_tokens is None:
            return None
        return (input_tokens * input_price + output_tokens * output_price) / 1e6

    def _use(self, question: _Question) -> JudgeUse:
        return JudgeUse.total(question.uses) or JudgeUse(model=self.model)

    def _error(self, question: _Question, message: str) -> JudgeError:
        message = f"{self.model} at {self._access.base_url}: {message}"
        shown = self._shown(message, _LONGEST_MESSAGE)
        return JudgeError(shown, use=self._use(question), raw_answer=question.raw_answer)

    def _shown(self, text: str, longest: int = _LONGEST_RAW_ANSWER) -> str:
        return without_lone_surrogates(self._access.redacted(text))[:longest]


def _waits_seconds() -> Iterator[float]:
    """Yield how long to wait before each retry where the endpoint does not say."""
    wait = _FIRST_WAIT_SECONDS
    while True:
        yield wait
        wait = min(2 * wait, _LONGEST_WAIT_SECONDS)


def _wait_seconds(wait: float, retry_after_seconds: float | None) -> float | None:
    """Return how long to wait before a request is repeated; None where it would be too long.

    A wait is stretched at random, so that not all who were sent away come back at once.
    """
    asked_for = retry_after_seconds or 0.0
    if asked_for > _LONGEST_WAIT_SECONDS:
        return None
    return max(wait, asked_for) * (1 + _STRETCH * random.random())
