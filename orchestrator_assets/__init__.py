"""Voice-agent evaluations as Dagster assets: simulated calls, validated, retried, scored."""
