"""What the metrics have in common that a language model rates, from 1 to 3 as EVA's do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator

from orchestrator_assets.call.speech.comparison import canonical
from orchestrator_assets.judges.prompt import Prompt
from orchestrator_assets.metrics.base import MetricScore, Need
from orchestrator_assets.metrics.conversation import Conversation
from orchestrator_assets.metrics.judged_material import Turn, turns_of

if TYPE_CHECKING:
    from orchestrator_assets.judges.judge import Judge

WORST, BEST = 1, 3
Rating = Literal[1, 2, 3]

_PACKAGE = "orchestrator_assets.metrics"


class Answer(BaseModel):
    """The base of what a judge answers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def fault_in(self, turns: Sequence[Turn]) -> str | None:
        """Return why this can't be an answer about these turns; None if it can."""
        raise NotImplementedError


class Evidence(BaseModel):
    """A fault of the agent."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    turn: int = Field(ge=1)
    quote: str = Field(min_length=1)
    reason: str = Field(min_length=1)


class ConversationRating(Answer):
    """A rating of a whole conversation, and what it rests on."""

    evidence: list[Evidence]
    summary: str = Field(min_length=1)
    rating: Rating

    @model_validator(mode="after")
    def _fault_for_a_bad_rating(self) -> Self:
        if self.rating < BEST and not self.evidence:
            raise ValueError(f"a rating of {self.rating} needs evidence")
        return self

    def fault_in(self, turns: Sequence[Turn]) -> str | None:
        """Return that a turn is named which there is not, if so."""
        unknown = sorted({each.turn for each in self.evidence} - {turn.number for turn in turns})
        return f"there is no turn {unknown[0]}; the last is {len(turns)}" if unknown else None


AnswerT = TypeVar("AnswerT", bound=Answer)


class JudgedRating(Generic[AnswerT]):
    """A metric that a judge rates by the transcript; the prompt has the metric's name.

    Skipped where the agent said nothing. `code_version` changes with the prompt and with the shape
    of the answer.
    """

    name: ClassVar[str]
    answer: ClassVar[type[Answer]]
    needs: frozenset[Need] = frozenset({Need.TRANSCRIPT})
    pass_threshold: float | None = 0.5

    @property
    def code_version(self) -> str:
        """The version of the code, and the hash of prompt and answer."""
        return f"1+{_prompt_hash(_prompt(self.name), self.answer)}"

    async def judge(self, conversation: Conversation, judge: Judge) -> MetricScore:
        """Return the score.

        Raises JudgeError where the judge gives no usable answer, ConversationFileError if a file is
        damaged.
        """
        turns = turns_of(conversation)
        if not any(turn.by_agent for turn in turns):
            return MetricScore(
                name=self.name,
                skipped=True,
                details={"reason": "the agent said nothing"},
                version=self.code_version,
            )
        judgement = await judge.ask(
            _prompt(self.name),
            self.material(conversation, turns),
            _about(self.answer, turns),
            metric=self.name,
            directory=conversation.directory,
        )
        score, details = self.rated(judgement.answer, conversation, turns)  # type: ignore[arg-type]
        return MetricScore(
            name=self.name,
            score=round(score, 4),
            normalized_score=round((score - WORST) / (BEST - WORST), 4),
            details=details,
            version=self.code_version,
            prompt_hash=judgement.prompt_hash,
            judge=judgement.use,
        )

    def material(self, conversation: Conversation, turns: Sequence[Turn]) -> Mapping[str, str]:
        """Return the values for the placeholders of the prompt."""
        raise NotImplementedError

    def rated(
        self, answer: AnswerT, conversation: Conversation, turns: Sequence[Turn]
    ) -> tuple[float, dict[str, Any]]:
        """Return the score, from 1 to 3, and its details."""
        raise NotImplementedError


class JudgedConversation(JudgedRating[ConversationRating]):
    """A rating of the conversation as a whole."""

    answer = ConversationRating

    def rated(
        self, answer: ConversationRating, conversation: Conversation, turns: Sequence[Turn]
    ) -> tuple[float, dict[str, Any]]:
        """Return the rating, and its evidence with the seconds of the turns it names."""
        report = conversation.call_report
        sent = [canonical(text) for text in (report and report.agent_texts) or ()]
        evidence = []
        for each in answer.evidence:
            turn = turns[each.turn - 1]
            quote = canonical(each.quote)
            evidence.append(
                {
                    **each.model_dump(),
                    "quote_found": any(quote in text for text in (canonical(turn.text), *sent)),
                    "start_seconds": turn.start_seconds,
                    "end_seconds": turn.end_seconds,
                }
            )
        return answer.rating, {
            "rating": answer.rating,
            "reason": answer.summary,
            "evidence": evidence,
        }


@cache
def _prompt(name: str) -> Prompt:
    return Prompt.load(_PACKAGE, name)


@cache
def _prompt_hash(prompt: Prompt, answer: type[Answer]) -> str:
    # Making the schema takes a millisecond, and every look at a score compares versions.
    return prompt.hash_for(answer)


def _about(answer: type[AnswerT], turns: Sequence[Turn]) -> type[AnswerT]:
    """Return the answer's model, that takes no answer about other turns than these.

    So the judge is asked again. To the judge, and in the hash of the prompt, it is the same.
    """

    def is_about_them(self: AnswerT) -> AnswerT:
        if (fault := self.fault_in(turns)) is not None:
            raise ValueError(fault)
        return self

    check: Any = model_validator(mode="after")(is_about_them)
    return create_model(
        answer.__name__, __base__=answer, __doc__=answer.__doc__, __validators__={"about": check}
    )
