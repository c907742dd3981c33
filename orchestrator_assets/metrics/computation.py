"""Computes the metrics of one accepted conversation: those that are selected, and no other."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator_assets.errors import ConversationFileError, JudgeError
from orchestrator_assets.metrics.base import JudgedMetric, Metric, MetricScore, Need
from orchestrator_assets.metrics.conversation import Conversation
from orchestrator_assets.metrics.registry import AnyMetric, code_versions, create_metrics
from orchestrator_assets.metrics.scores import merge_scores, read_scores
from orchestrator_assets.metrics.selection import MetricSelection, is_lacking
from orchestrator_assets.records import Task

if TYPE_CHECKING:
    from orchestrator_assets.judges.judges import Judges

_SHOWN_ANSWER_CHARACTERS = 500

_logger = logging.getLogger(__name__)


class MetricsComputation:
    """Computes the named metrics, and beside them `extra_metrics` that are not registered.

    `judges` are asked by judged metrics, which end in an error without them. `selection` tells
    which scores of a conversation are computed; the others in its `metrics.json` stay.
    """

    def __init__(
        self,
        names: Iterable[str],
        *,
        judges: Judges | None = None,
        extra_metrics: Iterable[AnyMetric] = (),
        selection: MetricSelection = MetricSelection(),  # noqa: B008 - it is immutable
    ) -> None:
        """Raises ConfigurationError for a name there is no metric of that can be used."""
        self._metrics: list[AnyMetric] = [*create_metrics(names), *extra_metrics]
        self._versions = code_versions(self._metrics)
        self._judges = judges
        self._selection = selection

    async def compute(self, task: Task, directory: Path) -> dict[str, MetricScore]:
        """Return the scores that were computed, by name, as `metrics.json` holds them now.

        Each is there as soon as it is computed. What can't be computed is an errored score, or the
        earlier one with its `latest_error` set, and touches no other. Raises OSError if the scores
        can't be written.
        """
        work = await asyncio.to_thread(self._work_on, task, directory)
        ended = await asyncio.gather(
            work.compute_deterministic(),
            *(work.judge(metric, self._judges) for metric in work.judged),
            return_exceptions=True,
        )
        standing: dict[str, MetricScore] = {}
        for each in ended:
            if isinstance(each, BaseException):
                # Only now, when nothing is left that would go on unseen.
                raise each
            standing |= each
        return {name: standing[name] for name in work.names if name in standing}

    def _work_on(self, task: Task, directory: Path) -> _Work:
        stored = _stored(directory)
        names = self._selection.of(self._versions, stored)
        chosen = [metric for metric in self._metrics if metric.name in names]
        return _Work(chosen, stored, task, directory)


class _Work:
    """The metrics to compute on one conversation. Making it reads files, and so blocks."""

    def __init__(
        self,
        metrics: Sequence[AnyMetric],
        stored: Mapping[str, MetricScore],
        task: Task,
        directory: Path,
    ) -> None:
        self._task = task
        self._directory = directory
        self._stored = stored
        self.names = [metric.name for metric in metrics]
        self.judged = [metric for metric in metrics if isinstance(metric, JudgedMetric)]
        self._deterministic = [metric for metric in metrics if isinstance(metric, Metric)]
        # Of their own: tracks that were decoded for the deterministic ones would stay in memory
        # for as long as a judge takes.
        self._for_judges = Conversation(task, directory)
        self._unfit = {
            metric.name: self._unfit_for(metric, self._for_judges) for metric in self.judged
        }
        if self.judged:
            _read_ahead(self._for_judges, {need for metric in self.judged for need in metric.needs})

    async def compute_deterministic(self) -> dict[str, MetricScore]:
        """One after another in a thread, since they share what they make of the recordings."""
        if not self._deterministic:
            return {}
        return await asyncio.to_thread(self._compute_deterministic)

    def _compute_deterministic(self) -> dict[str, MetricScore]:
        conversation = Conversation(self._task, self._directory)
        scores = {}
        for metric in self._deterministic:
            unfit = self._unfit_for(metric, conversation)
            scores[metric.name] = unfit or self._computed(metric, conversation)
        return self._kept(scores)

    async def judge(self, metric: JudgedMetric, judges: Judges | None) -> dict[str, MetricScore]:
        """On the event loop, side by side: they wait for their judge."""
        score = self._unfit[metric.name] or await self._judged(metric, judges)
        return await asyncio.to_thread(self._kept, {metric.name: score})

    def _kept(self, scores: Mapping[str, MetricScore]) -> dict[str, MetricScore]:
        return merge_scores(self._directory, self._task.id, scores)

    def _computed(self, metric: Metric, conversation: Conversation) -> MetricScore:
        try:
            return _checked(metric, metric.compute(conversation))
        except Exception as error:
            _logger.warning("%s of %s failed", metric.name, self._task.id, exc_info=True)
            return _failed(metric, error)

    async def _judged(self, metric: JudgedMetric, judges: Judges | None) -> MetricScore:
        try:
            if judges is None:
                raise JudgeError("there is no judge; write `judge` into the evaluation")
            return _checked(metric, await metric.judge(self._for_judges, await judges.text()))
        except JudgeError as error:
            _logger.warning("%s of %s: %s", metric.name, self._task.id, error)
            answer = (error.raw_answer or "")[:_SHOWN_ANSWER_CHARACTERS]
            score = _error(metric, str(error), {"raw_answer": answer} if answer else {})
            return score.model_copy(update={"judge": error.use})
        except Exception as error:
            _logger.warning("%s of %s failed", metric.name, self._task.id, exc_info=True)
            return _failed(metric, error)

    def _unfit_for(self, metric: AnyMetric, conversation: Conversation) -> MetricScore | None:
        """Return the score of a conversation without what the metric needs; None if all is there.

        Evidence that is gone takes no score with it that was computed when it was there.
        """
        try:
            lacking = [conversation.lacks(need) for need in sorted(metric.needs)]
        except Exception as error:
            _logger.warning("%s of %s failed", metric.name, self._task.id, exc_info=True)
            return _failed(metric, error)
        reason = "; ".join(each for each in lacking if each is not None)
        if not reason:
            return None
        earlier = self._stored.get(metric.name)
        if earlier is not None and not earlier.skipped and not is_lacking(earlier):
            return _error(metric, reason)
        return _described(metric, MetricScore(name="", skipped=True, details={"reason": reason}))


def _stored(directory: Path) -> dict[str, MetricScore]:
    try:
        return read_scores(directory)
    except ConversationFileError:
        return {}  # What can't be read is computed again.


def _read_ahead(conversation: Conversation, needs: Collection[Need]) -> None:
    """Read what judged metrics look at, so that they do not block the event loop.

    What can't be read is for the metric to find out that wants it.
    """
    readers: list[Callable[[], object]] = [
        lambda: conversation.result,
        lambda: conversation.transcript,
        lambda: conversation.events,
        lambda: conversation.initial_state,
        lambda: conversation.final_state,
        lambda: conversation.call_report,
    ]
    if Need.AUDIO in needs:
        readers += [lambda: conversation.caller_track, lambda: conversation.agent_track]
    for read in readers:
        with suppress(ConversationFileError, OSError):
            read()


def _checked(metric: AnyMetric, score: MetricScore) -> MetricScore:
    """Return the score under the metric's name and version. Raises ValueError for one that is none.

    A score that is no JSON would otherwise cost the other metrics their place in the file.
    """
    score.model_dump(mode="json")
    for value in (score.score, score.normalized_score):
        if value is not None and not math.isfinite(value):
            raise ValueError(f"the score is {value}")
    if score.normalized_score is not None and not 0 <= score.normalized_score <= 1:
        raise ValueError(f"the normalised score is {score.normalized_score}, not from 0 to 1")
    if score.score is None and score.error is None and not score.skipped:
        raise ValueError("there is no score, and no word on why")
    return _described(metric, score)


def _failed(metric: AnyMetric, error: Exception) -> MetricScore:
    if isinstance(error, ConversationFileError):
        return _error(metric, str(error))
    return _error(metric, f"{type(error).__name__}: {error}")


def _error(
    metric: AnyMetric, message: str, details: Mapping[str, object] | None = None
) -> MetricScore:
    return _described(metric, MetricScore(name="", error=message, details=dict(details or {})))


def _described(metric: AnyMetric, score: MetricScore) -> MetricScore:
    return score.model_copy(update={"name": metric.name, "version": metric.code_version})
