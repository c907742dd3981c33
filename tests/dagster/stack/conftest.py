"""One running stack for all tests of this folder, each of which works on evaluations of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from dagster_stack import DagsterStack
from stack_evaluations import write_evaluations


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "stack" in item.fixturenames:  # type: ignore[attr-defined]
            item.add_marker(pytest.mark.stack)


@pytest.fixture(scope="session")
def running_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DagsterStack]:
    stack = DagsterStack(tmp_path_factory.mktemp("stack"))
    write_evaluations(stack.evaluations)
    try:
        stack.start()
        yield stack
    finally:
        stack.stop()


@pytest.fixture
def stack(running_stack: DagsterStack, request: pytest.FixtureRequest) -> Iterator[DagsterStack]:
    failed_before = request.session.testsfailed
    yield running_stack
    if request.session.testsfailed > failed_before:
        request.node.add_report_section("teardown", "stack", running_stack.logs())
