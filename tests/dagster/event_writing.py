"""Writes events of made-up runs to an instance, in this process or as a program of its own.

`python event_writing.py HOME RUN_ID BATCHES` prints a line for every batch that is stored,
and goes on having the files open until its standard input is closed.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import dagster as dg
from dagster import AssetKey, DagsterEvent, DagsterEventType, DagsterInstance
from dagster._core.events import AssetMaterializationPlannedData, StepMaterializationData
from dagster._core.events.log import EventLogEntry

EVENTS_PER_BATCH = 4
ASSETS = [AssetKey(["trial_run", name]) for name in ("conversation", "metrics")]
CHECK = "accepted"


def planned(run_id: str, asset: AssetKey, partition: str) -> EventLogEntry:
    data = AssetMaterializationPlannedData(asset, partition=partition, partitions_subset=None)
    return entry(
        run_id, DagsterEvent.build_asset_materialization_planned_event("job", "step", data)
    )


def materialized(run_id: str, asset: AssetKey, partition: str) -> EventLogEntry:
    materialization = dg.AssetMaterialization(asset, partition=partition, metadata={"score": 1.0})
    event = DagsterEvent(
        DagsterEventType.ASSET_MATERIALIZATION.value,
        "job",
        event_specific_data=StepMaterializationData(materialization),
    )
    return entry(run_id, event)


def checked(run_id: str, asset: AssetKey, partition: str) -> EventLogEntry:
    evaluation = dg.AssetCheckEvaluation(
        asset_key=asset, check_name=CHECK, passed=True, partition=partition
    )
    event = DagsterEvent(
        DagsterEventType.ASSET_CHECK_EVALUATION.value, "job", event_specific_data=evaluation
    )
    return entry(run_id, event)


def entry(run_id: str, event: DagsterEvent) -> EventLogEntry:
    return EventLogEntry(
        error_info=None,
        user_message="",
        level="debug",
        run_id=run_id,
        timestamp=time.time(),
        job_name="job",
        dagster_event=event,
    )


def task_events(run_id: str, partition: str) -> list[EventLogEntry]:
    """Return the events of a settled task: two assets and a check of each."""
    return [
        *(materialized(run_id, asset, partition) for asset in ASSETS),
        *(checked(run_id, asset, partition) for asset in ASSETS),
    ]


def write_tasks(instance: DagsterInstance, run_id: str, count: int) -> None:
    for number in range(count):
        events = task_events(run_id, f"{run_id}_{number}")
        instance.event_log_storage.store_event_batch(events)
        print(number, flush=True)  # noqa: T201


if __name__ == "__main__":
    home, run_id, count = sys.argv[1:]
    with DagsterInstance.from_config(str(Path(home))) as instance:
        write_tasks(instance, run_id, int(count))
        sys.stdin.read()
