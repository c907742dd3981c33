"""Makes a directory of ours for a conversation of EVA's: links, and two translated files."""

from __future__ import annotations

from pathlib import Path

from orchestrator_assets.adoption.eva_run import EvaConversation
from orchestrator_assets.attempts.resident import write_result
from orchestrator_assets.call.conversation import (
    RESULT_FILE,
    TRANSCRIPT_FILE,
    ConversationResult,
)
from orchestrator_assets.call.conversation_files import read_result, read_transcript
from orchestrator_assets.errors import ConversationFileError
from orchestrator_assets.store.atomic import make_directory, sync_directory, write_text


def read_eva_result(
    conversation: EvaConversation, *, task_id: str, attempt: int
) -> ConversationResult | None:
    """Return how EVA's call went; None if EVA came to no result.

    Raises ConversationFileError for a damaged result.
    """
    if not (conversation.directory / RESULT_FILE).is_file():
        return None
    return read_result(conversation.directory, task_id=task_id, attempt=attempt)


def link_conversation(source: Path, target: Path, result: ConversationResult | None) -> None:
    """Make `target` a directory in which EVA's conversation in `source` reads as one of ours.

    The links are absolute, so that the directory can be renamed and archived. Raises OSError.
    """
    make_directory(target)
    translated = set()
    if result is not None:
        write_result(target, result)
        translated.add(RESULT_FILE)
    transcript = _translated_transcript(source)
    if transcript is not None:
        write_text(target / TRANSCRIPT_FILE, transcript)
        translated.add(TRANSCRIPT_FILE)
    for entry in sorted(source.iterdir()):
        if entry.name not in translated:
            (target / entry.name).symlink_to(entry)
    sync_directory(target)


def _translated_transcript(source: Path) -> str | None:
    """Return the transcript's rows as ours; None where there are none, or they can't be read."""
    try:
        rows = read_transcript(source)
    except ConversationFileError:
        # It is linked as it is: a faulty transcript does not make a conversation unusable.
        return None
    return "".join(row.model_dump_json(exclude_none=True) + "\n" for row in rows)
