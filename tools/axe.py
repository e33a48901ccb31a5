"""What axe finds on every page, in light and dark, in both languages: for developers, against a server that runs.

    npm pack axe-core && tar xzf axe-core-*.tgz
    python -m tools.axe http://localhost:8501 package/axe.min.js

Prints the serious and critical findings, and ends with status 1 where there are any.
"""

import os
import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from gpudash.text import LANGUAGES

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))
SETTLED_MS = 7000  # until a page has drawn its charts
RUN = "axe.run(document, {resultTypes: ['violations']})"


def findings(address: str, axe: str, scheme: str, language: str) -> list[str]:
    """One line per element with a serious or critical finding, on all pages."""
    found = []
    with sync_playwright() as playwright:
        path = os.environ.get("CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        tab = browser.new_context(color_scheme=scheme, bypass_csp=True).new_page()
        for page in PAGES:
            tab.goto(f"{address}/{'' if page == 'overview' else page}?lang={language}")
            tab.wait_for_timeout(SETTLED_MS)
            tab.evaluate(axe)
            for violation in tab.evaluate(RUN)["violations"]:
                if violation["impact"] in ("serious", "critical"):
                    for node in violation["nodes"]:
                        found.append(f"{scheme} {language} {page} {violation['id']}: {node['html'][:160]}")
        browser.close()
    return found


if __name__ == "__main__":
    server, script = sys.argv[1:]
    code = Path(script).read_text(encoding="utf-8")
    lines = [
        line
        for scheme in ("light", "dark")
        for language in LANGUAGES
        for line in findings(server, code, scheme, language)
    ]
    print("\n".join(lines))
    sys.exit(bool(lines))
