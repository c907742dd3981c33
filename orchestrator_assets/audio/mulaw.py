"""Mu-law, the telephone's 8 bit code (ITU-T G.711), by table look-up."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from orchestrator_assets.audio.samples import Samples

_BIAS = 33
_CLIP = 8158
_SEGMENT_ENDS = np.array([63, 127, 255, 511, 1023, 2047, 4095])


def encode_mulaw(samples: Samples) -> bytes:
    """Return mono PCM16 `samples` as mu-law, one byte a sample. Silence is 0xFF."""
    return _encoding_table()[samples.view(np.uint16)].tobytes()


def decode_mulaw(data: bytes) -> Samples:
    """Return mu-law `data` as mono PCM16, one sample a byte. 0xFF and 0x7F are silence."""
    return _decoding_table()[np.frombuffer(data, dtype=np.uint8)]


@cache
def _decoding_table() -> NDArray[np.int16]:
    code = ~np.arange(256, dtype=np.uint8)
    exponent = ((code >> 4) & 0x07).astype(np.int32)
    mantissa = (code & 0x0F).astype(np.int32)
    magnitude = (((mantissa << 1) + _BIAS) << exponent) - _BIAS
    # G.711 speaks of 14 bit samples; PCM16 holds them in its upper bits.
    return np.where(code & 0x80, -magnitude, magnitude).astype(np.int16) << 2


@cache
def _encoding_table() -> NDArray[np.uint8]:
    """Codes by the sample's bit pattern, so that a look-up needs no arithmetic."""
    pattern = np.arange(1 << 16, dtype=np.uint16)
    linear = pattern.view(np.int16).astype(np.int32) >> 2
    magnitude = np.minimum(np.abs(linear), _CLIP) + _BIAS
    exponent = np.searchsorted(_SEGMENT_ENDS, magnitude)
    mantissa = (magnitude >> (exponent + 1)) & 0x0F
    sign = np.where(linear < 0, 0x80, 0)
    codes: NDArray[np.uint8] = (~(sign | (exponent << 4) | mantissa) & 0xFF).astype(np.uint8)
    return codes
