"""The evaluator tests itself: faults are planted in real calls, and it is asked what it noticed.

What is planted is known, so every detector's precision and recall can be counted, and so can the
error of the latency that is measured. `planted_calls` says which calls are placed, `place` places
them, `DETECTORS` say what the pipeline reported of each, `diagnose` holds that against the truth.
"""
