"""What a person sees in the browser of a finished run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from dagster_stack import DagsterStack
from stack_evaluations import REAL_RECORDS

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
EVALUATION = "shown"
LIMIT_MS = 30_000


@pytest.fixture(scope="module")
def browser() -> Iterator[sync_api.Browser]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium; on Debian: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def finished(running_stack: DagsterStack) -> DagsterStack:
    """Have a run of real calls behind us: all tasks are accepted but `hangs_up`."""
    running_stack.wait_until_registered(EVALUATION, REAL_RECORDS)
    run = running_stack.launch_range(EVALUATION, REAL_RECORDS[0], REAL_RECORDS[-1])
    assert running_stack.ended_status(run) == "FAILURE"
    return running_stack


@pytest.fixture
def page(
    browser: sync_api.Browser, finished: DagsterStack, stack: DagsterStack, tmp_path: Path
) -> Iterator[sync_api.Page]:
    page = browser.new_page(base_url=finished.url, viewport={"width": 1500, "height": 1000})
    page.set_default_timeout(LIMIT_MS)
    yield page
    page.screenshot(path=tmp_path / "page.png")
    page.close()


def see(page: sync_api.Page, text: str, *, exact: bool = False) -> None:
    sync_api.expect(page.get_by_text(text, exact=exact).first).to_be_visible(timeout=LIMIT_MS)


def open_asset(page: sync_api.Page, asset: str, view: str) -> None:
    page.goto(f"/assets/{EVALUATION}/{asset}?view={view}")


def test_the_partitions_page_names_records_and_counts_green_and_red(page: sync_api.Page) -> None:
    open_asset(page, "record_summary", "partitions")

    for record in REAL_RECORDS:
        see(page, record, exact=True)
    see(page, "Materialized (3)", exact=True)
    see(page, "Failed (1)", exact=True)


def test_a_conversations_partition_shows_its_transcript(page: sync_api.Page) -> None:
    open_asset(page, "conversation", "partitions&partition=first")

    see(page, "transcript", exact=True)
    see(page, "My booking code is M3RW9.")
    see(page, "Thank you for calling")


def test_an_audio_partition_shows_the_waveform_as_a_picture(page: sync_api.Page) -> None:
    open_asset(page, "audio", "partitions&partition=first")

    page.get_by_text("[Show Markdown]").first.click()
    picture = page.locator("img[src^='data:image/svg+xml']").first
    sync_api.expect(picture).to_be_visible(timeout=LIMIT_MS)
    width, height = picture.evaluate("image => [image.naturalWidth, image.naturalHeight]")
    assert width > 100
    assert height > 50


def test_the_checks_page_shows_what_was_asked_of_a_conversation(page: sync_api.Page) -> None:
    open_asset(page, "conversation", "checks")

    for check in ("conversation_valid_end", "time_limit_acceptance"):
        see(page, check)
    page.get_by_text("conversation_valid_end").first.click()
    page.get_by_text("Partitions", exact=True).last.click()
    for record in REAL_RECORDS:
        see(page, record, exact=True)
