from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from orchestrator_assets.call.speech.engines import default_speech_to_text, default_text_to_speech


def test_all_threads_share_one_engine_of_each_kind() -> None:
    with ThreadPoolExecutor(4) as threads:
        speaking = [threads.submit(default_text_to_speech) for _ in range(4)]
        hearing = [threads.submit(default_speech_to_text) for _ in range(4)]
    assert len({id(future.result()) for future in speaking}) == 1
    assert len({id(future.result()) for future in hearing}) == 1


def test_speech_to_text_wants_16_khz() -> None:
    assert default_speech_to_text().sample_rate_hz == 16000
