"""Dagster's daemon, with short intervals.

The queue's and the monitor's are settings of `dagster.yaml`. Those of backfills (30 s) and of
sensors (their own minimum) are not: the one is a constant, the other part of the definitions.
"""

from __future__ import annotations

from typing import Any

from dagster._daemon import controller, sensor
from dagster._daemon.cli import main

_BACKFILL_SECONDS = 1
_SENSOR_LOOP_SECONDS = 1


def _never(*_: Any, **__: Any) -> bool:
    return False


if __name__ == "__main__":
    controller.DEFAULT_DAEMON_INTERVAL_SECONDS = _BACKFILL_SECONDS
    sensor.MIN_INTERVAL_LOOP_TIME = _SENSOR_LOOP_SECONDS
    sensor.is_under_min_interval = _never
    main()
