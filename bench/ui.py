"""How long a visitor waits, in a real browser: `make bench-ui`. It prints, it never fails.

Times are taken in the browser, from the key or the start of the navigation to the frame in which the page shows it.
The server's processor time stands beside them: unlike the times it hardly depends on what else the machine does.
"""

import statistics
import time
from collections.abc import Callable
from functools import partial

from playwright.sync_api import Browser, Page, sync_playwright

from bench.browser import CHROMIUM, FLAGS, PATIENCE_MS
from bench.server import Server, running
from gpudash.text import Text

VISITS = 3
MOVES = 30
SWITCHES = 6
PAUSE_MS = 250  # between two moves, so that each starts from a page at rest
LINK = "?v=1&lang=en&workload.model=llama-3.1-70b&traffic.peak_requests_per_s=20&purchase.horizon_months=12"
ANSWER = ".st-key-overview-card h3"
METRICS = "[data-testid=stMetricValue]"
CHARTS = {"overview": ".st-key-overview-cumulative_cost", "tco": ".st-key-tco-cumulative_cost"}
LINES = " .scatterlayer .js-line"
SLIDER = ".st-key-purchase-horizon_months"
# The chart is redrawn when the path of its first line is another one; looked at once in every frame.
WATCH = """(lines) => {
  const path = () => document.querySelector(lines)?.getAttribute("d");
  window.redrawn = new Promise((resolve) => {
    document.addEventListener("keydown", (key) => {
      const before = path();
      const look = () => path() !== before ? resolve(performance.now() - key.timeStamp) : requestAnimationFrame(look);
      look();
    }, { once: true, capture: true });
  });
}"""


def main() -> None:
    if CHROMIUM is None:
        raise SystemExit("No Chromium here. Install one, or set CHROMIUM=/path/to/it.")
    with running() as server, sync_playwright() as playwright:
        launch = partial(playwright.chromium.launch, executable_path=CHROMIUM, args=list(FLAGS))
        with launch() as browser:
            visit(browser, server)  # what follows meets a server that has been visited before
        first, again = [], []
        for _ in range(VISITS):
            with launch() as browser:  # a browser with nothing in its caches
                page, *waited = visit(browser, server)
                first.append(waited)
                again.append(opened(page, page.reload))
        report_opened("first visit", first)
        report_opened("reload", again)
        with launch() as browser:
            page, *_ = visit(browser, server)
            switch(page)
            move(page, server)


def visit(browser: Browser, server: Server) -> tuple[Page, float, float]:
    """A new page at the link, and how long that took."""
    page = browser.new_page(viewport={"width": 1440, "height": 900}, locale="en-US")
    page.set_default_timeout(PATIENCE_MS)
    return page, *opened(page, lambda: page.goto(f"{server.address}/{LINK}", wait_until="commit"))


def opened(page: Page, go: Callable[[], object]) -> tuple[float, float]:
    """Seconds until the answer can be read, and until the charts are drawn too."""
    start = time.perf_counter()
    go()
    page.locator(ANSWER).wait_for()
    page.locator(METRICS).nth(3).wait_for()
    answered_s = time.perf_counter() - start
    drawn(page, "overview")
    return answered_s, time.perf_counter() - start


def drawn(page: Page, name: str) -> None:
    page.locator(CHARTS[name] + LINES).first.wait_for(state="attached")


def report_opened(what: str, waited: list[list[float]]) -> None:
    for part, seconds in zip(("answer", "charts"), zip(*waited)):
        shown = ", ".join(f"{wait:.1f}" for wait in seconds)
        print(f"{statistics.median(seconds):8.1f} s   {what} to {part} ({shown})")


def switch(page: Page) -> None:
    """From one page to the other by the menu, until the charts there are drawn."""
    text, waits_ms = Text("en"), []
    for turn in range(SWITCHES):
        group, name = (("decide", "overview"), ("understand", "tco"))[(turn + 1) % 2]
        page.get_by_test_id("stTopNavSection").get_by_text(text(f"frame.group_{group}"), exact=True).click()
        link = page.get_by_test_id("stTopNavDropdownLink").get_by_text(text(f"frame.page_{name}"), exact=True)
        link.wait_for()
        start = time.perf_counter()
        link.click()
        drawn(page, name)
        waits_ms.append((time.perf_counter() - start) * 1000)
        page.wait_for_timeout(PAUSE_MS)
    print(
        f"{statistics.median(waits_ms):8.0f} ms  to another page, median of {SWITCHES}; longest {max(waits_ms):.0f} ms"
    )


def move(page: Page, server: Server) -> None:
    """A slider, month by month: until the chart shows it, what the server worked and sent for it."""
    received = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: received.append(len(frame))))
    opened(page, page.reload)
    page.locator(SLIDER).get_by_role("slider").focus()
    page.wait_for_timeout(4 * PAUSE_MS)
    received.clear()
    waits_ms, before_s = [], server.cpu_s()
    for _ in range(MOVES):
        page.evaluate(WATCH, CHARTS["overview"] + LINES)
        page.keyboard.press("ArrowRight")
        waits_ms.append(page.evaluate("window.redrawn"))
        page.wait_for_timeout(PAUSE_MS)
    p95_ms = statistics.quantiles(waits_ms, n=20)[-1]
    print(f"{statistics.median(waits_ms):8.0f} ms  slider to redrawn chart, median of {MOVES}; p95 {p95_ms:.0f} ms")
    print(f"{(server.cpu_s() - before_s) / MOVES * 1000:8.0f} ms  processor time of the server per move")
    print(f"{sum(received) / MOVES / 1000:8.1f} kB  sent to the browser per move")


if __name__ == "__main__":
    main()
