"""Writes what each module holds into docs/map.md, from its own first sentence: `make readme` after a change of one.

The headings and the order are written by hand; a module without a place there is refused by name.
"""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MAP = ROOT / "docs" / "map.md"
FOLDERS = ("gpudash", "ui", "pages", "bench", "fit", "fuzz", "docs", "tools")
LINE = re.compile(r"^- \[.*?\]\(\.\./(.+?\.py)\).*$", flags=re.MULTILINE)


def refreshed(content: str) -> str:
    """The map with every module's line as its file says it today."""
    return LINE.sub(lambda line: _line(line.group(1)), content)


def missing(content: str) -> list[str]:
    """The modules that the map leaves out; an `__init__.py` that says nothing needs no place."""
    placed = set(LINE.findall(content))
    return [path for path in ["app.py", *_modules()] if path not in placed]


def _modules() -> list[str]:
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    return [path.relative_to(ROOT).as_posix() for path in paths if path.stat().st_size]


def _line(path: str) -> str:
    name = path.removesuffix(".py").removesuffix("/__init__").rpartition("/")[2]
    return f"- [{name}](../{path}): {_first_words(ROOT / path)}"


def _first_words(path: Path) -> str:
    """The first paragraph of a module's docstring, on one line."""
    return " ".join(ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))).split("\n\n")[0].split())


if __name__ == "__main__":
    found = MAP.read_text(encoding="utf-8")
    if missing(found):
        sys.exit(f"docs/map.md has no line for {', '.join(missing(found))}: put one under the heading where it belongs")
    MAP.write_text(refreshed(found), encoding="utf-8")
