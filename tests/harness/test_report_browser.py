"""The report in a real browser, as a reader uses it; needs chromium, chromedriver and selenium."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gym_enterprise import Grade, Record, load_domain
from gym_enterprise.harness.evaluation import evaluate
from gym_enterprise.harness.report import write_report
from gym_enterprise.harness.results import open_run, read_run
from tests.harness.records import did, record, said, trials
from tests.harness.reports import played, saved, told
from tests.shop import make_domain

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")

if CHROMIUM is None or DRIVER is None:
    pytest.skip("needs chromium and chromedriver on the path", allow_module_level=True)
webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
from selenium.common.exceptions import JavascriptException  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

pytestmark = pytest.mark.slow

FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --window-size=1280,900"
)
TRAP = "</script><img src=x onerror=\"document.title='hacked'\"><script>document.title='hacked'</script>"


class Browser:
    """Chromium, with what the tests ask of it."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, file: Path, hash_: str = "") -> None:
        self.driver.get("about:blank")
        self.driver.get(f"{file.as_uri()}{hash_}")

    def js(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def texts(self, selector: str) -> list[str]:
        """The shown text of the elements that are shown."""
        return self.js(  # type: ignore[no-any-return]
            "return [...document.querySelectorAll(arguments[0])].filter(e => e.checkVisibility())"
            ".map(e => e.innerText.trim())",
            selector,
        )

    def content(self, selector: str) -> str:
        """The whole text of the first element, as it is in the document."""
        return self.js("return document.querySelector(arguments[0]).textContent", selector)  # type: ignore[no-any-return]

    def click(self, selector: str, place: int = 0) -> None:
        self.js("document.querySelectorAll(arguments[0])[arguments[1]].click()", selector, place)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    def wait(self, condition: Callable[[], Any]) -> None:
        WebDriverWait(self.driver, 20).until(lambda _: condition())

    @property
    def hash(self) -> str:
        return self.js("return location.hash")  # type: ignore[no-any-return]

    @property
    def focused(self) -> str:
        return self.js("return document.activeElement.innerText")  # type: ignore[no-any-return]

    def faults(self) -> list[Any]:
        """What the console has, and what was loaded besides the file."""
        return [
            *self.driver.get_log("browser"),
            *self.js("return performance.getEntriesByType('resource').map(entry => entry.name)"),
        ]

    def screen(self, width: int, height: int) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def colours(self, scheme: str) -> None:
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in [*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(executable_path=DRIVER))
    yield Browser(driver)
    driver.quit()


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    chromium.colours("light")
    chromium.screen(1280, 900)
    yield chromium
    assert chromium.faults() == []


@pytest.fixture
def report(tmp_path: Path) -> Callable[..., Path]:
    def make(*records: Record, **more: Any) -> Path:
        run = saved(tmp_path / "run", *records, **more)
        return write_report(run, run / "report.html", make_domain()).path

    return make


class Forgetful:
    """Looks the order up, and claims that all is done."""

    def __init__(self, view: Any, seed: int) -> None:
        self.seed = seed

    def act(self, observation: Any) -> dict[str, Any]:
        said_ = sum(message.role == "agent" for message in observation["messages"])
        if said_ < 2:
            order = "O1" if said_ else "O9"
            return {"type": "tool_call", "name": "get_order", "arguments": {"order_id": order}}
        return {"type": "stop", "content": "It is done."}


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Three tasks of the shop with two failed trials each, and one that broke."""
    run = played(tmp_path / "mixed", make_domain(), agent=Forgetful, trials=3, most=6)
    broken = record("cancel", 2, None, task_hash=make_domain().task("cancel").hash, reason="agent_error")
    manifest = read_run(run).manifest
    arguments = {"trials": 3, "domain": make_domain(), "tasks": make_domain().tasks["train"].values()}
    with open_run(run, manifest["configuration"], resume=True, **arguments) as writer:
        writer.append(broken)
    return write_report(run, run / "report.html").path


# -- reading ----------------------------------------------------------------------------------------------


def test_the_first_page_shows_the_rate_with_its_coverage_and_every_task(
    browser: Browser, mixed: Path
) -> None:
    browser.open(mixed)
    assert browser.texts("h1") == ["mixed"]
    (headline,) = browser.texts(".headline")
    assert headline.startswith("INCOMPLETE: only 6 of 9 episodes scored; of these pass@1 0.0%")
    assert browser.texts(".card .value")[:2] == ["0.0%", "66.7%"]
    assert browser.texts("tr.task .main") == ["cancel", "expedite", "confirm"]
    assert browser.texts("tr.task [data-name='Passed']") == ["0 of 2"] * 3
    assert [label.split(",")[0] for label in labels(browser, "tr.task:first-child .chip")] == [
        "trial 0: failed",
        "trial 1: failed",
        "trial 2: not scored",
    ]
    assert browser.js("return document.title") == "mixed - gym-enterprise"


def labels(browser: Browser, selector: str) -> list[str]:
    return browser.js(  # type: ignore[no-any-return]
        "return [...document.querySelectorAll(arguments[0])].map(e => e.getAttribute('aria-label'))", selector
    )


def test_an_episode_shows_who_spoke_the_calls_folded_the_difference_and_the_hashes(
    browser: Browser, mixed: Path
) -> None:
    browser.open(mixed, "#cancel/1")
    assert browser.texts("h1") == ["cancel trial 1"]
    assert "the final state differs from the target: rows 1 missing" in browser.texts(".verdict")
    assert browser.texts(".entry.user .words") == ["Please cancel an order of mine."]
    assert browser.texts(".entry.agent .words") == ["It is done."]
    assert browser.texts(".call .status") == ["✗ unknown_order", "✓ ok"]
    assert browser.texts(".entry .json") == []  # folded
    browser.click(".call summary", 1)
    browser.wait(lambda: browser.texts(".call .json"))
    arguments, result = browser.texts(".call .json")
    assert arguments == '{\n  "order_id": "O1"\n}'
    assert '"price": "21.10"' in result
    assert browser.texts(".row .tag") == ["missing"]
    assert browser.texts("table.columns tbody tr") == ['status\t"open" → "cancelled"\t"open" unchanged']
    assert make_domain().task("cancel").hash in browser.texts(".side code")
    assert browser.texts(".documents .state") == ["never opened"]
    assert browser.texts(".prompt summary b") == ["Agent's system prompt", "User's system prompt"]
    browser.click(".prompt summary")
    browser.wait(lambda: browser.texts(".prompt .words"))
    assert browser.texts(".prompt .words") == [make_domain().policy]


def test_agent_and_user_speak_on_their_own_sides(browser: Browser, mixed: Path) -> None:
    browser.open(mixed, "#cancel/0")
    left = "return document.querySelector(arguments[0]).getBoundingClientRect().left"
    right = "return document.querySelector(arguments[0]).getBoundingClientRect().right"
    assert browser.js(left, ".message.agent .words") < browser.js(left, ".message.user .words")
    assert browser.js(right, ".message.agent .words") < browser.js(right, ".message.user .words")


def test_an_unscored_episode_shows_what_broke(browser: Browser, mixed: Path) -> None:
    browser.open(mixed, "#cancel/2")
    assert browser.texts(".title .badge") == ["– not scored"]
    assert "429, retries exhausted" in browser.texts(".banner")[0]
    assert browser.texts(".diff") == []


def test_documents_lead_to_the_call_that_showed_them(browser: Browser, report: Callable[..., Path]) -> None:
    whole = {"document_id": "refunds", "title": "Refund policy", "content": "A refund\nis a credit."}
    hit = {"document_id": "ratings", "title": "Ratings"}
    transcript = (*told("kb_search", [hit], query="x"), *told("kb_read", whole, document_id="refunds"))
    browser.open(report(record("cancel", transcript=transcript)), "#cancel/0")
    assert browser.texts(".documents .link") == ["Refund policy"]
    browser.click(".documents .link")
    browser.wait(lambda: browser.texts(".call .json"))
    assert "A refund\nis a credit." in browser.texts(".call .json")[1]
    assert browser.texts("section[aria-label='Documents of the reference'] .state") == [
        "opened before the first change"
    ]


# -- finding ----------------------------------------------------------------------------------------------


def test_tasks_are_filtered_by_text_outcome_and_reason_and_the_address_keeps_it(
    browser: Browser, mixed: Path
) -> None:
    browser.open(mixed)
    box = browser.driver.find_element("id", "filter")
    box.send_keys("conf")
    assert browser.texts("tr.task .main") == ["confirm"]
    assert browser.texts("[role=status]") == ["1 of 3 tasks, 2 of 7 episodes"]
    box.clear()
    box.send_keys("no such thing")
    assert browser.texts(".empty") == ["No task passes this filter."]
    choose(browser, "Outcome", "unscored")
    browser.click(".filters .button")
    assert len(browser.texts("tr.task")) == 3
    choose(browser, "Outcome", "unscored")
    assert browser.texts("tr.task .main") == ["cancel"]
    assert browser.hash == "#?outcome=unscored"
    browser.driver.refresh()
    assert browser.texts("tr.task .main") == ["cancel"]
    choose(browser, "Outcome", "")
    choose(browser, "Reason", "wrong missing confirmations")
    assert browser.texts("tr.task .main") == ["confirm"]
    choose(browser, "Family", "orders")
    assert browser.texts("tr.task .main") == ["confirm"]


def choose(browser: Browser, label: str, value: str) -> None:
    browser.js(
        "const s = document.querySelector(`select[aria-label=${arguments[0]}]`); s.value = arguments[1];"
        "s.dispatchEvent(new Event('change'))",
        label,
        value,
    )


def test_a_family_and_a_fault_lead_to_their_tasks(browser: Browser, mixed: Path) -> None:
    browser.open(mixed)
    browser.click("section[aria-label='What failed episodes got wrong'] .link", 1)
    assert browser.texts("tr.task .main") == ["confirm"]
    assert browser.hash == "#?reason=wrong+missing+confirmations"


def test_tasks_are_sorted_by_a_column_and_back(browser: Browser, report: Callable[..., Path]) -> None:
    browser.open(report(*trials("b", "10"), *trials("a", "00"), *trials("c", "11"), trials=2))
    assert browser.texts("tr.task .main") == ["b", "a", "c"]
    browser.click("[data-order=passed] button")
    assert browser.texts("tr.task .main") == ["a", "b", "c"]
    browser.click("[data-order=passed] button")
    assert browser.texts("tr.task .main") == ["c", "b", "a"]
    sorts = "return [...document.querySelectorAll('th[data-order]')].map(e => e.ariaSort)"
    assert browser.js(sorts) == ["none", "none", "descending"]
    browser.click("[data-order=task] button")
    assert browser.texts("tr.task .main") == ["a", "b", "c"]


def test_a_task_unfolds_into_its_episodes(browser: Browser, mixed: Path) -> None:
    browser.open(mixed)
    browser.click("tr.task .fold")
    assert browser.texts("tr.episode .badge") == ["✗ failed", "✗ failed", "– not scored"]
    assert browser.js("return document.querySelector('.fold').ariaExpanded") == "true"
    browser.open(mixed, "#confirm")
    assert browser.texts("tr.episode .badge") == ["✗ failed", "✗ failed", "+ not played"]


@pytest.mark.parametrize(
    "task_id", ["a/b", "c \"d\" 'e'", "#f?g&h=i", "j%2Fk", "é 雪 😀", "../..", "?outcome=x"]
)
def test_an_address_leads_to_an_episode_whatever_its_id(
    browser: Browser, report: Callable[..., Path], task_id: str
) -> None:
    file = report(record(task_id, 0), record("other", 0))
    browser.open(file)
    browser.click("tr.task a.main")
    browser.wait(lambda: browser.texts("h1") == [f"{task_id} trial 0"])
    address = browser.hash
    browser.open(file, address)
    assert browser.texts("h1") == [f"{task_id} trial 0"]


def test_an_address_of_nothing_says_so(browser: Browser, mixed: Path) -> None:
    browser.open(mixed, "#cancel/77")
    assert browser.texts("[role=alert]") == ["This report has no episode cancel/77."]
    browser.open(mixed, "#%E0%A4%A")
    assert browser.texts("[role=alert]") == ["This report has no episode %E0%A4%A."]


def test_one_goes_from_episode_to_episode_and_back_with_the_browser(browser: Browser, mixed: Path) -> None:
    browser.open(mixed, "#?outcome=failed")
    browser.click("tr.task a.chip", 1)
    browser.wait(lambda: browser.texts("h1") == ["cancel trial 1"])
    browser.press("]")
    browser.wait(lambda: browser.texts("h1") == ["expedite trial 0"])  # cancel/2 is not among the failed
    browser.press("[")
    browser.wait(lambda: browser.texts("h1") == ["cancel trial 1"])
    browser.driver.back()
    browser.driver.back()
    browser.driver.back()
    browser.wait(lambda: browser.texts("h1") == ["mixed"])
    assert browser.hash == "#?outcome=failed"


# -- keyboard ---------------------------------------------------------------------------------------------


def test_the_keyboard_finds_opens_and_comes_back(browser: Browser, mixed: Path) -> None:
    browser.open(mixed)
    browser.press("/")
    assert browser.js("return document.activeElement.id") == "filter"
    browser.press("c", Keys.ARROW_DOWN)
    assert browser.focused == "cancel"
    browser.press("j")
    assert browser.focused == "confirm"
    browser.press("k", Keys.ENTER)
    assert browser.focused == "cancel"
    browser.press("j")
    assert browser.focused == "trial 0"
    browser.press(Keys.ENTER)
    browser.wait(lambda: browser.texts("h1") == ["cancel trial 0"])
    browser.press(Keys.ESCAPE)
    browser.wait(lambda: browser.texts("h1") == ["mixed"])
    assert browser.js("return document.activeElement.closest('tr').dataset.task") == "cancel"
    browser.press("/")
    browser.press(Keys.ESCAPE)
    assert len(browser.texts("tr.task")) == 3


def test_the_keyboard_walks_through_the_conversation(browser: Browser, mixed: Path) -> None:
    browser.open(mixed, "#cancel/0")
    browser.press("j", "j")
    assert browser.focused.startswith("get_order")
    browser.press(Keys.ENTER)
    browser.wait(lambda: browser.texts(".call .label"))
    browser.press("e")
    browser.wait(lambda: len(browser.texts(".call .label")) == 4)
    browser.press("e")
    assert browser.texts(".call .label") == []
    outline = (
        "const s = getComputedStyle(document.activeElement); return `${s.outlineStyle} ${s.outlineWidth}`"
    )
    assert browser.js(outline) == "solid 2px"


def test_the_help_names_the_keys_and_closes(browser: Browser, mixed: Path) -> None:
    browser.open(mixed)
    browser.press("?")
    assert "filter the tasks" in browser.texts("dialog[open]")[0]
    browser.press(Keys.ESCAPE)
    assert browser.texts("dialog[open]") == []
    browser.press("/")
    assert browser.js("return document.activeElement.id") == "filter"


def test_every_control_has_a_name_and_no_id_stands_twice(browser: Browser, mixed: Path) -> None:
    nameless = (
        "return [...document.querySelectorAll('button, a, input, select, summary')]"
        ".filter(e => !(e.ariaLabel || e.textContent.trim())).map(e => e.outerHTML)"
    )
    twice = (
        "const ids = [...document.querySelectorAll('[id]')].map(e => e.id);"
        "return ids.filter((id, place) => ids.indexOf(id) !== place)"
    )
    for address in ("", "#cancel/0", "#confirm"):
        browser.open(mixed, address)
        assert browser.js(nameless) == []
        assert browser.js(twice) == []
        assert len(browser.texts("h1")) == 1


# -- screens ----------------------------------------------------------------------------------------------

LONG = "unbroken_" * 60


@pytest.mark.parametrize("width", [360, 390, 768, 1280])
def test_no_page_scrolls_sideways(browser: Browser, report: Callable[..., Path], width: int) -> None:
    row = {"table": LONG, "key": {LONG: LONG}, "op": "insert", "values": {LONG: LONG, "n": 1}}
    changed = {"table": "t", "key": {"id": 1}, "op": "update", "values": {"a": LONG}, "before": {"a": "b"}}
    grade = Grade(0.0, LONG, {"missing": [row], "changed": [changed | {"wanted": changed}]}, {LONG: LONG})
    transcript = (*said("user", LONG), *did(LONG, error=LONG, **{LONG: LONG}), *told(LONG, {LONG: [LONG]}))
    made = record(f"t-{LONG}", 0, grade=grade, transcript=transcript, reason=LONG)
    file = report(made, record("u", 0, None, error=LONG), **{LONG: LONG, "agent": LONG})
    browser.screen(width, 800)
    for address in ("", f"#t-{LONG}", f"#t-{LONG}/0", "#u/0"):
        browser.open(file, address)
        browser.press("e")
        wide = browser.js(
            "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert wide == 0, address


CONTRAST = """
const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
function rgba(colour) {
  probe.clearRect(0, 0, 1, 1); probe.fillStyle = colour; probe.fillRect(0, 0, 1, 1);
  return [...probe.getImageData(0, 0, 1, 1).data];
}
function light([r, g, b]) {
  const part = (v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
}
function ground(node) {
  for (let one = node; one; one = one.parentElement) {
    const colour = rgba(getComputedStyle(one).backgroundColor);
    if (colour[3] === 255) return colour;
  }
  return [255, 255, 255, 255];
}
const low = [];
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walk.nextNode()) {
  const node = walk.currentNode.parentElement;
  if (!walk.currentNode.data.trim() || !node.checkVisibility()) continue;
  if (node.closest("script, [disabled], [aria-disabled], .skip")) continue;
  const [a, b] = [light(rgba(getComputedStyle(node).color)), light(ground(node))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) low.push([node.className, walk.currentNode.data.slice(0, 40), ratio.toFixed(2)]);
}
return low;
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast_in_both_schemes(browser: Browser, mixed: Path, scheme: str) -> None:
    """WCAG 2.2, 1.4.3: at least 4.5 to 1."""
    browser.colours(scheme)
    for address in ("", "#cancel", "#cancel/0", "#cancel/2"):
        browser.open(mixed, address)
        browser.press("e")
        assert browser.js(CONTRAST) == [], address


def test_the_scheme_follows_the_system_until_it_is_chosen(browser: Browser, mixed: Path) -> None:
    ground = "return getComputedStyle(document.body).backgroundColor"
    browser.open(mixed)
    light = browser.js(ground)
    browser.colours("dark")
    dark = browser.js(ground)
    assert light != dark
    browser.press("t")
    assert (browser.texts("#theme"), browser.js(ground)) == (["Light"], light)
    browser.click("#theme")
    browser.colours("light")
    assert (browser.texts("#theme"), browser.js(ground)) == (["Dark"], dark)
    browser.driver.refresh()
    assert browser.js(ground) == dark
    browser.press("t")
    assert (browser.texts("#theme"), browser.js(ground)) == (["Auto"], light)


# -- what players write -----------------------------------------------------------------------------------


def test_markup_in_a_message_is_text(browser: Browser, report: Callable[..., Path]) -> None:
    row = {"table": TRAP, "key": {TRAP: TRAP}, "op": "insert", "values": {TRAP: TRAP}}
    made = record(
        TRAP,
        0,
        grade=Grade(0.0, TRAP, {"extra": [row]}, {TRAP: TRAP}),
        transcript=(*said("user", TRAP), *said("agent", TRAP), *told(TRAP, TRAP, **{TRAP: TRAP})),
        reason=TRAP,
    )
    file = report(made, agent=TRAP)
    for address in ("", f"#{TRAP.replace('/', '%2F')}/0"):
        browser.open(file, address)
        browser.press("e")
        assert browser.js("return document.querySelectorAll('body img').length") == 0
        assert browser.js("return document.title") != "hacked"
    assert browser.texts(".message .words") == [TRAP, TRAP]


def test_the_page_itself_cannot_write_markup_or_reach_the_network(browser: Browser, mixed: Path) -> None:
    browser.open(mixed)
    with pytest.raises(JavascriptException, match="TrustedHTML"):
        browser.js("document.body.innerHTML = '<b>x</b>'")
    refused = (
        "fetch('http://127.0.0.1:9/').then(() => arguments[0]('sent'), error => arguments[0](error.name))"
    )
    assert browser.driver.execute_async_script(refused) == "TypeError"
    told_ = "".join(entry["message"] for entry in browser.driver.get_log("browser"))
    assert "Content Security Policy" in told_
    browser.open(mixed)


def test_text_from_right_to_left_runs_so_and_turns_nothing_else_around(
    browser: Browser, report: Callable[..., Path]
) -> None:
    hebrew = "שלום, איבדתי את הכרטיס שלי"
    transcript = (*said("user", hebrew), *said("agent", "abc \u202edef"), *said("user", f"one\n{hebrew}"))
    browser.open(report(record("t", 0, transcript=transcript)), "#t/0")
    direction = (
        "return [...document.querySelectorAll('.message .words')].map(e => getComputedStyle(e).direction)"
    )
    assert browser.js(direction) == ["rtl", "ltr", "ltr"]
    assert browser.texts(".message .words")[1] == "abc \\u202edef"


def test_odd_characters_are_shown_as_escapes_and_emoji_as_they_are(
    browser: Browser, report: Callable[..., Path]
) -> None:
    words = "nul\x00 bell\x07 half\ud83d line\u2028sep 😀👩‍👩‍👧"
    transcript = (*said("user", words), *told("t", {"a": "nul\x00\x1b", "b": words}))
    browser.open(report(record("t", 0, transcript=transcript)), "#t/0")
    assert browser.content(".message .words") == "nul\\u0000 bell\\u0007 half\\ud83d line\u2028sep 😀👩‍👩‍👧"
    browser.click(".call summary")
    browser.wait(lambda: browser.texts(".call .json"))
    assert '"nul\\u0000\\u001b"' in browser.texts(".call .json")[1]


def test_what_cannot_be_seen_is_an_escape_and_what_joins_emoji_or_letters_stays(
    browser: Browser, report: Callable[..., Path]
) -> None:
    hidden = (
        "\u200b \u200d \u200c \u2060 \ufeff \u00ad \u200e \u200f \u061c \u3164 \ufe0f \U000e0041 \U000e01ef"
    )
    joined = "👩‍👩‍👧 ❤️‍🔥 👩🏽‍🚀 1️⃣ ☎️ می‌خواهم क्‍ष"
    smuggled = "a\u200db a\ufe0f 1\ufe0f 😀\ufe0f\ufe0f 🏴\U000e0067\U000e007f"
    transcript = (*said("user", hidden), *said("agent", joined), *said("user", smuggled))
    browser.open(report(record("t", 0, transcript=transcript)), "#t/0")
    shown = browser.js("return [...document.querySelectorAll('.message .words')].map(e => e.textContent)")
    assert shown == [
        r"\u200b \u200d \u200c \u2060 \ufeff \u00ad \u200e \u200f \u061c \u3164 \ufe0f \u{e0041} \u{e01ef}",
        joined,
        r"a\u200db a\ufe0f 1\ufe0f 😀" + "\ufe0f" + r"\ufe0f 🏴\u{e0067}\u{e007f}",
    ]


def test_a_message_of_a_million_characters_is_cut_until_it_is_asked_for(
    browser: Browser, report: Callable[..., Path]
) -> None:
    words = "word " * 200_000 + "end"
    browser.open(report(record("t", 0, transcript=said("user", words))), "#t/0")
    assert len(browser.content(".message .words")) < 21_000
    assert browser.texts(".more") == ["Show all 1,000,003 characters"]
    browser.click(".more")
    assert browser.content(".message .words") == words


def test_an_episode_of_200_calls_is_folded_and_each_can_be_read(
    browser: Browser, report: Callable[..., Path]
) -> None:
    calls = [part for number in range(200) for part in told("get_order", {"n": number}, order_id=number)]
    browser.open(report(record("t", 0, transcript=tuple(calls))), "#t/0")
    assert len(browser.texts(".call summary")) == 200
    assert browser.texts(".call .json") == []
    browser.press("e")
    browser.wait(lambda: len(browser.texts(".call .json")) == 400)
    assert browser.texts(".call .json")[-1] == '{\n  "n": 199\n}'


def test_json_is_shown_as_it_was_written(browser: Browser, report: Callable[..., Path]) -> None:
    deep: Any = "bottom"
    for _ in range(60):
        deep = [deep]
    value = {"big": 2**70, "real": 5.0, "text": 'a "b" \\', "empty": [{}, []], "lines": "a\nb", "deep": deep}
    browser.open(report(record("t", 0, transcript=tuple(told("t", value)))), "#t/0")
    browser.click(".call summary")
    browser.wait(lambda: browser.texts(".call .json"))
    shown = browser.content(".call .part:nth-child(2) .json")
    assert '"big": 1180591620717411303424,\n' in shown
    assert '"real": 5.0,\n' in shown
    assert '"text": "a \\"b\\" \\\\",\n' in shown
    assert '"empty": [\n    {},\n    []\n  ],\n' in shown
    assert '"lines": a\nb' in shown
    assert shown.count("[") == 62


# -- size -------------------------------------------------------------------------------------------------


def test_a_thousand_episodes_of_the_bank_are_small_and_all_there(browser: Browser, tmp_path: Path) -> None:
    bank = load_domain("banking")
    tasks = [task for split in bank.tasks.values() for task in split.values()]
    asyncio.run(evaluate(tmp_path / "run", bank, tasks, "oracle", trials=9))
    report = write_report(tmp_path / "run", tmp_path / "report.html", bank)
    assert report.size < 20e6
    browser.open(report.path)
    assert browser.texts("[role=status]") == ["124 tasks, 1,116 episodes"]
    browser.open(report.path, "#late-fee-204/8")
    browser.wait(lambda: browser.texts("h1") == ["late-fee-204 trial 8"])
    assert browser.texts(".title .badge") == ["✓ passed"]
