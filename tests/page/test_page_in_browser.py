"""The live page in a real browser: what it shows, how it follows, how it comes back, and who can use it."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import headgate
from headgate.health.operator_endpoint import Telling
from headgate.health.process_parts import ProcessParts
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.messages.operations import Append, Delete
from headgate_table.table import Table
from headgate_worker.loop.schedule import RunTask
from headgate_worker.roles.interface import CleanTask
from support.page.reading import DEADLINE_MS, reading
from support.page.served import a_page
from support.page.story import STORES, Story
from support.servers.processes import free_port
from support.tables import add_file

expect.set_options(timeout=DEADLINE_MS)
DESK = {"width": 1280, "height": 1060}
PHONE = {"width": 390, "height": 844}
WINDOWS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light", "viewport": DESK},
    "dark": {"color_scheme": "dark", "viewport": DESK},
    "phone": {"color_scheme": "light", "viewport": PHONE},
}
"""That pictures are made in."""
NO_ANSWER = "Failed to load resource: net::ERR_"
"""What a browser says of a server that is away."""


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    """A lake of some tables, and a little of its life."""
    with Story(tmp_path, SystemAmbient().now_ms() - 100_000) as told:
        told.fill(200)
        yield told


def events(story: Story) -> str:
    return story.places[0].uri


def live(story: Story) -> int:
    return Table.open(events(story), STORES).snapshot().num_files


def test_tables_are_shown_with_their_numbers_and_nobody_else_is_asked(story: Story, browser: Browser) -> None:
    with a_page(story.bus_address) as served, reading(browser, served.address.url) as seen:
        expect(seen.link).to_have_text("Live")
        expect(seen.page.locator("#bus")).to_have_text(story.bus_address)
        for place in story.places:
            snapshot = Table.open(place.uri, STORES).snapshot()
            expect(seen.cell(place.uri, "Version")).to_have_text(str(snapshot.version))
            expect(seen.cell(place.uri, "Files")).to_have_text(f"{snapshot.num_files:,}")
            expect(seen.cell(place.uri, "Health")).to_have_text("well")
        expect(seen.flow.first).to_contain_text("accepted")


def test_a_mirror_shows_how_far_it_is_and_why_it_stopped(tmp_path: Path, browser: Browser) -> None:
    uri = str(tmp_path / "mirrored")
    headgate.write(uri, pa.table({"id": [1]}))
    table = Table.open(uri, STORES)
    table.alter(configuration={"headgate.mirror.formats": "delta"})
    with a_page(None, watch=[uri]) as served, reading(browser, served.address.url) as seen:
        row = seen.table(uri)
        expect(row).to_contain_text("Delta mirror not begun")
        published = table.mirror().version
        expect(row).to_contain_text(f"Delta mirror at version {published}")
        table.store.put(f"_delta_log/{published + 1:020d}.json", b'{"commitInfo":{}}\n')
        expect(seen.cell(uri, "Health")).to_have_text("mirror stopped")
        expect(row).to_contain_text(f"can't go on: it has version {published + 1}")


def test_what_happens_appears_by_itself_with_its_outcome(story: Story, browser: Browser) -> None:
    with a_page(story.bus_address) as served, reading(browser, served.address.url) as seen:
        expect(seen.cell(events(story), "Version")).to_have_text(re.compile(r"[0-9]"))
        version = int(seen.cell(events(story), "Version").inner_text())
        story.propose(events(story), Append((add_file("new", date="2026-11-19", region="eu"),)), "sink@ingest-9")
        first = seen.flow.filter(has_text="sink@ingest-9")
        expect(first).to_contain_text("waiting")
        expect(seen.cell(events(story), "Undecided")).to_have_text("1")
        story.settle()
        expect(first).to_contain_text("accepted")
        expect(first).to_contain_text(f"v{version + 1}")
        expect(seen.cell(events(story), "Version")).to_have_text(str(version + 1))
        story.propose(events(story), Append((add_file("new", date="2026-11-19", region="eu"),)), "again@ingest-9")
        story.settle()
        refused = seen.flow.filter(has_text="again@ingest-9")
        expect(refused).to_contain_text("rejected")
        expect(refused).to_contain_text("path_in_use")
        seen.page.get_by_label("Show").select_option("refused")
        expect(seen.flow.filter(has_text="sink@ingest-9")).to_have_count(0)
        expect(refused).to_have_count(1)


def test_the_browser_comes_back_by_itself_after_the_server_was_away(story: Story, browser: Browser) -> None:
    with ExitStack() as stack:
        address = stack.enter_context(a_page(story.bus_address, listen=f"127.0.0.1:{free_port()}")).address
        with reading(browser, address.url, expected=NO_ANSWER) as seen:
            expect(seen.link).to_have_text("Live")
            expect(seen.cell(events(story), "Version")).to_have_text(re.compile(r"[0-9]"))
            version = int(seen.cell(events(story), "Version").inner_text())
            stack.close()
            expect(seen.link).to_have_text(re.compile("Reconnecting; values as of [0-9:]+"))
            expect(seen.cell(events(story), "Version")).to_have_text(str(version))
            story.propose(events(story), Append((add_file("away", date="2026-11-19", region="eu"),)), "sink@ingest-9")
            story.settle()
            with a_page(story.bus_address, listen=str(address)):
                expect(seen.link).to_have_text("Live")
                expect(seen.cell(events(story), "Version")).to_have_text(str(version + 1))
                expect(seen.flow.filter(has_text="sink@ingest-9")).to_have_count(1)


def test_the_slider_travels_through_versions_with_their_files_and_partitions(story: Story, browser: Browser) -> None:
    before, version = live(story), Table.open(events(story), STORES).version
    added = add_file("aaa", date="2020-01-01", region="eu")
    story.propose(events(story), Append((added,)), "sink@ingest-9")
    story.settle()
    story.propose(events(story), Delete((added.path,)), "retention@ops")
    story.settle()
    with a_page(story.bus_address) as served, reading(browser, served.address.url) as seen:
        seen.open_history(events(story))
        travel = seen.page.locator("#travel")
        files = travel.locator(".files tbody tr")
        expect(travel.locator(".when")).to_contain_text(f"Version {version + 2}")
        expect(travel.locator(".facts")).to_contain_text(f"Files{before}")
        expect(files).to_have_count(50)
        seen.slider.press("ArrowLeft")
        expect(seen.slider).to_have_attribute("aria-valuetext", re.compile(f"^Version {version + 1}, Append, "))
        expect(travel.locator(".facts")).to_contain_text(f"Files{before + 1}")
        expect(files.first).to_contain_text(added.path)
        expect(seen.page).to_have_url(re.compile(rf"#table=.*&version={version + 1}$"))
        travel.get_by_role("button", name="date=2026-11-19 / region=eu").click()
        expect(travel.locator(".count").last).to_contain_text("in this partition")
        expect(files.first).to_contain_text("date=2026-11-19/region=eu/")
        travel.get_by_role("button", name="date=2026-11-19 / region=eu").click()
        travel.get_by_role("button", name="Next").click()
        expect(travel.locator(".count").last).to_contain_text(f"51 to {min(100, before + 1)} of {before + 1}")
        seen.slider.press("Home")
        expect(travel.locator(".facts")).to_contain_text("Files0")
        travel.get_by_role("button", name="Newest").click()
        expect(travel.locator(".when")).to_contain_text(f"Version {version + 2}")


def test_the_address_of_the_page_opens_a_table_at_a_version_and_back_leaves_it(story: Story, browser: Browser) -> None:
    with (
        a_page(story.bus_address) as served,
        reading(browser, served.address.url, path=f"/#table={events(story)}&version=1") as seen,
    ):
        expect(seen.page.locator(".when")).to_contain_text("Version 1")
        seen.page.get_by_role("button", name="Close").click()
        expect(seen.page.locator("#travel")).to_be_hidden()
        seen.page.go_back()
        expect(seen.page.locator(".when")).to_contain_text("Version 1")


def test_dead_letters_are_shown_with_their_reason(story: Story, browser: Browser) -> None:
    with a_page(story.bus_address) as served, reading(browser, served.address.url) as seen:
        expect(seen.page.locator("#letters-none")).to_be_visible()
        story.rubbish(events(story), b'{"format": 2}', "legacy@vm")
        story.settle()
        expect(seen.letters).to_have_count(1)
        expect(seen.letters).to_contain_text("unreadable")
        expect(seen.letters).to_contain_text("this release of headgate knows messages of format 1, not 2")


def test_what_workers_proposed_and_what_runs_in_this_process_is_shown(story: Story, browser: Browser) -> None:
    class Parts(ProcessParts):
        def tasks(self) -> list[RunTask]:
            return [RunTask(events(story), "clean", CleanTask(events(story)))]

        def refused(self) -> dict[str, str]:
            return {story.places[1].uri: "it is fed from another topic; `headgate table rebind` resolves it"}

    story.merge(story.places[0])
    story.settle()
    telling = Telling(SystemAmbient(), {})
    telling.monitor.process = Parts()
    with a_page(story.bus_address, telling=telling) as served, reading(browser, served.address.url) as seen:
        expect(seen.tasks.nth(0)).to_contain_text(re.compile("running.*clean events"))
        expect(seen.tasks.nth(1)).to_contain_text(re.compile("done.*merge events"))
        expect(seen.cell(story.places[1].uri, "Health")).to_have_text("refused")
        expect(seen.notices).to_contain_text("1 table is refused by the committer until somebody has looked")


@pytest.mark.usefixtures("short_patience")
def test_a_bus_that_does_not_answer_is_said_so_with_the_reason_until_it_does(
    story: Story, browser: Browser, tmp_path: Path
) -> None:
    away = tmp_path / "away.db"
    with a_page(f"sqlite://{away}") as served, reading(browser, served.address.url) as seen:
        expect(seen.notices).to_contain_text("The bus doesn't answer since")
        expect(seen.notices).to_contain_text(str(away))
        for name in ("bus.db", "bus.db-wal", "bus.db-shm"):
            if (tmp_path / name).exists():
                (tmp_path / name.replace("bus", "away")).symlink_to(tmp_path / name)
        expect(seen.notices).to_be_empty()
        expect(seen.table(events(story))).to_have_count(1)


@pytest.mark.usefixtures("short_patience")
def test_a_table_whose_store_is_away_keeps_its_values_says_why_and_recovers(
    story: Story, browser: Browser, tmp_path: Path
) -> None:
    with a_page(story.bus_address) as served, reading(browser, served.address.url) as seen:
        expect(seen.cell(events(story), "Files")).to_have_text(re.compile(r"[0-9]"))  # it was read once
        files = seen.cell(events(story), "Files").inner_text()
        log = Path(events(story))
        log.rename(tmp_path / "elsewhere")
        expect(seen.cell(events(story), "Health")).to_have_text("unreadable")
        expect(seen.notices).to_contain_text("1 table can't be read; what is shown of it is old")
        expect(seen.cell(events(story), "Files")).to_have_text(files)
        (tmp_path / "elsewhere").rename(log)
        expect(seen.cell(events(story), "Health")).to_have_text("well")
        expect(seen.notices).to_be_empty()


def test_hostile_names_and_reasons_are_shown_as_the_texts_they_are(browser: Browser, tmp_path: Path) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    with Story(tmp_path, SystemAmbient().now_ms() - 5_000) as story:
        uri = str(tmp_path / hostile / '"><script>alert(2)<')
        story.create(uri, f"{hostile}@host")
        story.propose(uri, Delete((f"{hostile}.parquet",)), f"{hostile}@host")
        story.propose(f"{uri}/nowhere", Delete(("a.parquet",)), "host")
        story.settle()
        with a_page(story.bus_address) as served, reading(browser, served.address.url) as seen:
            row = seen.page.locator("#tables tbody tr").filter(has_text=hostile)
            expect(row).to_contain_text('"><script>alert(2)<')
            expect(seen.flow.filter(has_text="not_live")).to_contain_text(f"{hostile}@host")
            expect(seen.letters).to_contain_text(hostile)
            row.get_by_role("button").click()
            expect(seen.page.locator(".when")).to_contain_text("Version")
            assert seen.page.locator("main img, main script").count() == 0


def test_light_and_dark_follow_the_system_until_one_is_chosen(story: Story, browser: Browser) -> None:
    with a_page(story.bus_address) as served:
        for scheme, paper in (("light", "rgb(245, 244, 240)"), ("dark", "rgb(18, 21, 23)")):
            with reading(browser, served.address.url, color_scheme=scheme) as seen:
                expect(seen.page.locator("body")).to_have_css("background-color", paper)
        with reading(browser, served.address.url, color_scheme="light") as seen:
            button = seen.page.get_by_role("button", name="Theme")
            button.click()
            expect(button).to_have_text("Theme: light")
            button.click()
            expect(button).to_have_text("Theme: dark")
            expect(seen.page.locator("body")).to_have_css("background-color", "rgb(18, 21, 23)")
            seen.page.reload()
            expect(seen.page.locator("body")).to_have_css("background-color", "rgb(18, 21, 23)")


def test_on_a_phone_nothing_is_cut_off(story: Story, browser: Browser) -> None:
    with (
        a_page(story.bus_address) as served,
        reading(browser, served.address.url, viewport=PHONE, is_mobile=True) as seen,
    ):
        expect(seen.cell(events(story), "Version")).to_be_visible()
        seen.open_history(events(story))
        expect(seen.page.locator(".partitions li").first).to_be_visible()
        widths = seen.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert widths == [PHONE["width"], PHONE["width"]]


def test_everything_can_be_done_by_keyboard(story: Story, browser: Browser) -> None:
    with a_page(story.bus_address) as served, reading(browser, served.address.url) as seen:
        page = seen.page
        expect(seen.cell(events(story), "Version")).to_be_visible()
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        expect(page.get_by_role("searchbox", name="Filter tables by address")).to_be_focused()
        page.keyboard.type("lake/events")
        expect(page.locator("#tables tbody tr")).to_have_count(1)
        name = page.get_by_role("button", name="events", exact=True)
        _tab_to(page, name)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="History of events")).to_be_focused()
        expect(name).to_have_attribute("aria-expanded", "true")
        _tab_to(page, page.get_by_role("button", name="Close"))
        page.keyboard.press("Enter")
        expect(page.locator("#travel")).to_be_hidden()
        expect(name).to_be_focused()
        sort = page.get_by_role("button", name="Version")
        sort.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("columnheader", name="Version")).to_have_attribute("aria-sort", "descending")


def test_screen_readers_find_names_and_words_for_all_there_is(story: Story, browser: Browser) -> None:
    with a_page(story.bus_address) as served, reading(browser, served.address.url) as seen:
        page = seen.page
        expect(seen.cell(events(story), "Version")).to_be_visible()
        for landmark in ("banner", "main", "contentinfo"):
            expect(page.get_by_role(landmark)).to_have_count(1)
        for region in ("Tables", "Proposals", "Workers", "Dead letters"):
            expect(page.locator(f"section:has(h2:text-is('{region}'))")).to_have_count(1)
        plots = page.get_by_role(
            "img", name=re.compile("over the last five minutes: now|over the last five minutes: newest")
        )
        expect(plots).to_have_count(4)
        expect(page.locator("#link")).to_have_attribute("role", "status")
        nameless = page.evaluate(
            "[...document.querySelectorAll('button, input, select')]"
            ".filter((each) => !each.textContent.trim() && !each.labels?.length && !each.getAttribute('aria-label')).length"
        )
        assert nameless == 0


def test_motion_stops_for_those_who_ask_for_less(story: Story, browser: Browser) -> None:
    with (
        a_page(story.bus_address) as served,
        reading(browser, served.address.url, reduced_motion="reduce") as seen,
    ):
        expect(seen.flow.first).to_be_visible()
        story.propose(events(story), Append((add_file("new", date="2026-11-19", region="eu"),)), "sink@ingest-9")
        story.settle()
        expect(seen.flow.filter(has_text="sink@ingest-9")).to_have_css("animation-name", "none")


def test_beyond_this_machine_the_token_opens_the_page(story: Story, browser: Browser) -> None:
    with a_page(story.bus_address, listen="0.0.0.0:0") as served:
        assert served.new_token is not None
        with reading(browser, served.address.url) as seen:
            page = seen.page
            expect(page).to_have_url(f"{served.address.url}/login")
            page.get_by_label("Token").fill("a guess that is wrong")
            page.get_by_role("button", name="Show the page").click()
            expect(page.get_by_text("That is not the token.")).to_be_visible()
            page.get_by_label("Token").fill(served.new_token.text)
            page.keyboard.press("Enter")
            expect(seen.link).to_have_text("Live")
            [cookie] = page.context.cookies()
            assert (cookie.get("httpOnly"), cookie.get("sameSite")) == (True, "Strict")
            assert served.new_token.text not in str(cookie)


def test_a_browser_whose_token_is_no_longer_right_is_sent_to_the_login(story: Story, browser: Browser) -> None:
    with ExitStack() as stack:
        listen = f"127.0.0.1:{free_port()}"
        address = stack.enter_context(a_page(story.bus_address, listen=listen, token="the-first-token-of-all")).address
        with reading(browser, address.url, expected="Failed to load resource") as seen:
            seen.page.get_by_label("Token").fill("the-first-token-of-all")
            seen.page.keyboard.press("Enter")
            expect(seen.link).to_have_text("Live")
            stack.close()
            with a_page(story.bus_address, listen=str(address), token="the-second-token-of-all"):
                expect(seen.page).to_have_url(f"{address.url}/login")


def test_pictures_of_the_page_are_made_in_both_themes_and_on_a_phone(
    browser: Browser, pictures: Path, pytestconfig: pytest.Config
) -> None:
    """Of a few seconds of the lake's life, or of five minutes where the pictures are to be kept."""
    minutes = 5.4 if pytestconfig.getoption("page_pictures") else 0.2
    with (
        TemporaryDirectory(prefix="headgate-") as folder,
        Story(Path(folder), SystemAmbient().now_ms() - int((minutes * 60 + 480) * 1000), seed=11) as story,
    ):
        story.fill(120)
        story.merge(story.places[0])
        story.live_until_now()
        with a_page(story.bus_address) as served:
            for name, options in WINDOWS.items():
                with reading(browser, served.address.url, reduced_motion="reduce", **options) as seen:
                    expect(seen.cell(events(story), "Health")).not_to_have_text("not read yet")
                    story.live_until_now()
                    expect(seen.page.locator("#tasks-none")).to_be_hidden()
                    if name == "dark":
                        seen.open_history(story.places[2].uri)
                        expect(seen.page.locator(".partitions li").first).to_be_visible()
                        seen.slider.press("PageDown")
                        seen.page.locator("#travel[aria-busy]").wait_for(state="detached")
                        seen.page.evaluate("document.activeElement.blur(), scrollTo(0, 204)")
                        seen.page.mouse.move(0, 0)
                    picture = pictures / f"page-{name}.png"
                    seen.page.screenshot(path=picture)
                    assert picture.read_bytes().startswith(b"\x89PNG")


def _tab_to(page: Page, target: Locator) -> None:
    for _ in range(30):
        page.keyboard.press("Tab")
        if target.evaluate("(element) => element === document.activeElement"):
            return
    raise AssertionError("it is not reached by Tab")
