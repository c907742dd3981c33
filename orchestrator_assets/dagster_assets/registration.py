"""The sensor that registers an evaluation's tasks as partitions."""

from __future__ import annotations

import dagster as dg

from orchestrator_assets.dagster_assets.partitions import partitions_name, task_partitions
from orchestrator_assets.evaluation import Evaluation

_INTERVAL_SECONDS = 30


def build_registration_sensor(evaluation: Evaluation) -> dg.SensorDefinition:
    """Return a sensor that keeps the partitions up with the data set.

    It only adds: a record that is taken out of the data set keeps its partition and its history.
    """

    @dg.sensor(
        name=f"{evaluation.name}_register_tasks",
        minimum_interval_seconds=_INTERVAL_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"Adds a partition for every task of {evaluation.data_set.name}.",
    )
    def register_tasks(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        known = set(context.instance.get_dynamic_partitions(partitions_name(evaluation.name)))
        keys = dict.fromkeys(task.key for task in evaluation.load_tasks())
        added = [key for key in keys if key not in known]
        if not added:
            return dg.SkipReason(f"all {len(keys)} tasks are registered")
        return dg.SensorResult(
            dynamic_partitions_requests=[task_partitions(evaluation.name).build_add_request(added)]
        )

    return register_tasks
