from __future__ import annotations

import hashlib

import numpy as np
import pytest

from orchestrator_assets.audio.mulaw import decode_mulaw, encode_mulaw

EVERY_SAMPLE = np.arange(-32768, 32768).astype(np.int16)
EVERY_CODE = bytes(range(256))
# Of the standard library's audioop (G.711), which Python 3.13 dropped.
AUDIOOP_ENCODING_SHA256 = "81d633c9e6972a18c74a58720b96cb8ca0bdd096d4060b646dd708c3b846019a"
AUDIOOP_DECODING_SHA256 = "3dab54339e520bb2c924826e3b72a917a2b612e9fd12fc867500f1d983a75827"


@pytest.mark.parametrize(
    ("code", "sample"),
    [
        (0x00, -32124),
        (0x0F, -16764),
        (0x10, -15996),
        (0x7E, -8),
        (0x7F, 0),
        (0x80, 32124),
        (0xAA, 5372),
        (0xFE, 8),
        (0xFF, 0),
    ],
)
def test_codes_decode_to_the_levels_of_g711(code: int, sample: int) -> None:
    assert decode_mulaw(bytes([code])).tolist() == [sample]


def test_all_samples_and_codes_agree_with_a_reference_implementation() -> None:
    encoded = encode_mulaw(EVERY_SAMPLE)
    decoded = decode_mulaw(EVERY_CODE).astype("<i2").tobytes()
    assert hashlib.sha256(encoded).hexdigest() == AUDIOOP_ENCODING_SHA256
    assert hashlib.sha256(decoded).hexdigest() == AUDIOOP_DECODING_SHA256


def test_every_code_survives_a_round_trip_except_negative_zero() -> None:
    encoded = encode_mulaw(decode_mulaw(EVERY_CODE))
    changed = [code for code in EVERY_CODE if encoded[code] != code]
    assert changed == [0x7F]
    assert encoded[0x7F] == 0xFF


def test_no_sample_is_off_by_more_than_a_thirtieth() -> None:
    samples = EVERY_SAMPLE.astype(np.int32)
    decoded = decode_mulaw(encode_mulaw(EVERY_SAMPLE)).astype(np.int32)
    assert np.all(np.abs(decoded - samples) <= np.abs(samples) / 30 + 7)


def test_silence_is_0xff_and_one_byte_a_sample() -> None:
    assert encode_mulaw(np.zeros(160, dtype=np.int16)) == b"\xff" * 160
    assert encode_mulaw(np.zeros(0, dtype=np.int16)) == b""
    assert decode_mulaw(b"").dtype == np.int16


def test_a_slice_with_a_stride_is_encoded_like_its_copy() -> None:
    every_third = EVERY_SAMPLE[::3]
    assert encode_mulaw(every_third) == encode_mulaw(every_third.copy())
