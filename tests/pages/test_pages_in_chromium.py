"""The dashboard in a real browser: readable by all, in any light and width, and on its own."""

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect

from tests.support.api.seen_page import SeenPage, seen_page

pytestmark = pytest.mark.slow

Stocked = tuple[str, str]
PAGES = ("/", "/docs", "/jobs/new", "/jobs/1", "/jobs/2", "/jobs/3", "/jobs/5", "/jobs/1/clone")


def test_pages_fit_a_phone_hinder_no_reader_and_ask_nobody_else(
    page: SeenPage, stocked: Stocked
) -> None:
    url, token = stocked
    page.open(f"{url}/login")
    assert page.hindrances_in_any_light() == []
    page.log_in(url, token)
    for path in PAGES:
        page.size(360, 740)
        page.open(url + path, drawn=path in ("/jobs/1", "/jobs/2"))
        assert not page.overflows(), path
        if path in ("/", "/jobs/2"):  # what the width hides or opens
            assert page.hindrances() == [], path
        page.size(1100)
        assert page.hindrances_in_any_light() == [], path
    assert {urlsplit(each).netloc for each in page.asked} == {urlsplit(url).netloc}


def test_a_refused_form_hinders_no_reader(page: SeenPage, stocked: Stocked) -> None:
    url, token = stocked
    page.log_in(url, token)
    page.page.goto(f"{url}/jobs/new")
    page.page.get_by_label("Trials").fill("three")
    page.page.get_by_role("button", name="Submit").click()
    expect(page.page.get_by_role("alert")).to_contain_text("Trials")
    assert page.hindrances_in_any_light() == []
    page.wrong.clear()  # the status of the refused form


def test_a_page_asks_for_its_plots_library_once_and_never_again(
    page: SeenPage, stocked: Stocked
) -> None:
    url, token = stocked
    page.log_in(url, token)
    page.open(f"{url}/jobs/1", drawn=True)
    page.open(f"{url}/jobs/2", drawn=True)
    sizes = page.page.evaluate(
        "performance.getEntriesByType('resource').filter((each) => each.name.includes('/static/'))"
        ".map((each) => each.transferSize)"
    )
    assert sizes and max(sizes) == 0, "from the browser's own store"


def test_the_keyboard_reaches_the_content_first(page: SeenPage, stocked: Stocked) -> None:
    url, token = stocked
    page.log_in(url, token)
    page.page.keyboard.press("Tab")
    skip = page.page.get_by_role("link", name="Skip to the content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.page.keyboard.press("Enter")
    expect(page.page.get_by_role("main")).to_be_focused()


def test_times_are_the_reader_s_own(browser: Browser, stocked: Stocked) -> None:
    url, token = stocked
    with seen_page(browser, timezone_id="Asia/Tokyo", locale="en-GB") as page:
        page.log_in(url, token)
        shown = page.page.locator("td time").first
        exact = shown.get_attribute("datetime")
        expected = page.page.evaluate(
            "(at) => new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short',"
            " timeZone: 'Asia/Tokyo' }).format(new Date(at))",
            exact,
        )
        assert shown.inner_text() == expected
        assert (shown.get_attribute("title") or "").endswith("UTC")


def test_without_scripts_all_is_there_but_the_plots(browser: Browser, stocked: Stocked) -> None:
    url, token = stocked
    with seen_page(browser, java_script_enabled=False) as page:
        page.log_in(url, token)
        page.page.goto(f"{url}/jobs/2")
        expect(page.page.locator("#latest tbody tr")).not_to_have_count(0)
        expect(page.page.locator("#failures")).to_contain_text("Corruption")
        assert "The plots need JavaScript" in page.page.content()
        page.page.get_by_role("link", name="New job").click()
        page.page.get_by_label("Trials").fill("12")
        page.page.get_by_role("button", name="Submit").click()
        expect(page.page.locator("h1")).to_contain_text("load-quick")
        page.page.get_by_role("button", name="Cancel job").click()
        expect(page.page.locator("#standing")).to_contain_text("cancelled")
        number = page.page.locator("h1").inner_text().partition(":")[0].removeprefix("Job ")
        deletes = page.page.get_by_role("button", name="Delete job")
        expect(deletes).to_be_hidden()
        page.page.locator("summary", has_text="Delete").press("Enter")
        deletes.press("Enter")
        expect(page.page.locator("h1")).to_have_text("Jobs")
        expect(page.page.get_by_role("link", name="#3", exact=True)).to_have_count(1)
        expect(page.page.get_by_role("link", name=f"#{number}", exact=True)).to_have_count(0)
