from __future__ import annotations

import re

import pytest

from orchestrator_assets.partition_keys import (
    MAX_ENCODED_LENGTH,
    decode_record_id,
    encode_record_id,
)

DAGSTER_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:@-]{0,127}")

AWKWARD_IDS = [
    "/", "a/b", "../x", "..", ".", "a..b", "a...b", ",", "a,b", "|", '"', "[x]", "*", "#", "?", "%",
    " ", "two words", "\n", "\x00", "مرحبا", "🦷", "ü", "x@ü", "@", "a@40", "x@@", "-a", "_a", "a_",
    "x_failed_attempt_3", "x_attempt_2", "x_trial_0", "x_extra_1", "x_unvalidated_12",
    "x:trial_0", "trial_0", "A", "a", "1.1.2", "C:\\x",
]  # fmt: skip


@pytest.mark.parametrize("record_id", ["move_to_thursday", "1.1.2", "a-b_c.d", "A1", "x_attempt_"])
def test_a_plain_id_is_its_own_key(record_id: str) -> None:
    assert encode_record_id(record_id) == record_id


@pytest.mark.parametrize("record_id", AWKWARD_IDS)
def test_any_id_becomes_a_key_that_decodes_to_it(record_id: str) -> None:
    key = encode_record_id(record_id)
    assert DAGSTER_KEY.fullmatch(key)
    assert ".." not in key
    assert not re.search(r"_(failed_attempt|attempt|trial|extra|unvalidated)_\d+\Z", key)
    assert decode_record_id(key) == record_id


def test_different_ids_have_different_keys() -> None:
    assert len({encode_record_id(record_id) for record_id in AWKWARD_IDS}) == len(AWKWARD_IDS)


def test_a_long_id_keeps_a_head_and_ends_in_a_hash() -> None:
    first, second = "caller " * 50 + "1", "caller " * 50 + "2"
    keys = {encode_record_id(first), encode_record_id(second)}
    assert len(keys) == 2
    for key in keys:
        assert len(key) <= MAX_ENCODED_LENGTH
        assert DAGSTER_KEY.fullmatch(key)
        assert key.startswith("caller@20caller")
        with pytest.raises(ValueError, match="shortened"):
            decode_record_id(key)


def test_a_long_id_is_never_cut_inside_an_escape() -> None:
    for padding in range(6):
        key = encode_record_id("a" * (70 + padding) + "ü" * 40)
        assert re.fullmatch(r"(?:[A-Za-z0-9_.-]|@[0-9A-F]{2})*@@[0-9a-f]{20}", key)


@pytest.mark.parametrize("record_id", ["", "\ud800"])
def test_what_is_no_text_is_refused(record_id: str) -> None:
    with pytest.raises(ValueError, match="record id"):
        encode_record_id(record_id)


@pytest.mark.parametrize("key", ["", "a b", "@C3", "a@4", "a@6D", "ü", "a@zz"])
def test_a_key_that_was_not_encoded_here_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="encoded record id"):
        decode_record_id(key)
