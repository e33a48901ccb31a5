"""The layers, read from the syntax tree: what may import what, and where neither arithmetic nor sentences may stand."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CORE = sorted(path for path in (ROOT / "gpudash").rglob("*.py") if "figures" not in path.parts)
FIGURES = sorted((ROOT / "gpudash" / "figures").glob("*.py"))
PAGES = sorted((ROOT / "pages").glob("*.py"))
UI = sorted((ROOT / "ui").glob("*.py"))
SENTENCE = re.compile(r"[A-Za-z]{2,},? [A-Za-z]{2,}|[\u4e00-\u9fff]")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module.split(".")[0])
    return found


def own_modules(path: Path) -> set[Path]:
    """The files of gpudash that a file imports."""
    froms = [node for node in ast.walk(tree(path)) if isinstance(node, ast.ImportFrom)]
    words = {word for node in froms for word in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))}
    found = {ROOT / f"{word.replace('.', '/')}.py" for word in words if word.startswith("gpudash.")}
    return {file for file in found if file.exists()}


def public(path: Path) -> list[ast.FunctionDef | ast.ClassDef]:
    """The functions, classes and methods of a module that others may use."""
    found = [node for node in tree(path).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    for kind in [node for node in found if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]:
        found += [node for node in kind.body if isinstance(node, ast.FunctionDef)]
    return [node for node in found if not node.name.startswith("_")]


def sentences(path: Path) -> list[str]:
    """String constants that read like a sentence, docstrings aside."""
    module = tree(path)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = {ast.get_docstring(node, clean=False) for node in ast.walk(module) if isinstance(node, documented)}
    constants = [node.value for node in ast.walk(module) if isinstance(node, ast.Constant)]
    return [text for text in constants if isinstance(text, str) and text not in docstrings and SENTENCE.search(text)]


@pytest.mark.parametrize("path", CORE, ids=name)
def test_the_core_knows_nothing_of_pages_charts_and_data_frames(path):
    assert not imported(path) & {"streamlit", "ui", "pages", "plotly", "pandas"}


def test_figures_stand_between_the_calculation_and_what_passes_an_answer_on():
    """No figure imports a module of the core that itself needs a figure, however far down."""
    wanted = {path: own_modules(path) for path in (ROOT / "gpudash").rglob("*.py")}
    needing = set(FIGURES)
    while more := {path for path in wanted.keys() - needing if wanted[path] & needing}:
        needing |= more
    above = needing - set(FIGURES)
    assert above
    assert {name(path): names for path in FIGURES if (names := sorted(map(name, wanted[path] & above)))} == {}


@pytest.mark.parametrize("path", FIGURES, ids=name)
def test_a_figure_knows_no_page_and_says_nothing_of_its_own(path):
    assert not imported(path) & {"streamlit", "ui", "pages", "pandas"}
    assert sentences(path) == []


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_a_page_only_names_what_to_show(path):
    assert imported(path) <= {"ui", "gpudash"}
    assert not [node for node in ast.walk(tree(path)) if isinstance(node, (ast.BinOp, ast.AugAssign, ast.Compare))]
    assert sentences(path) == []
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 64


@pytest.mark.parametrize("path", UI, ids=name)
def test_the_frame_says_nothing_of_its_own(path):
    assert "pages" not in imported(path)
    assert sentences(path) == []


@pytest.mark.parametrize("path", [*CORE, *FIGURES, *UI], ids=name)
def test_whatever_others_may_use_says_what_it_is(path):
    assert [node.name for node in public(path) if not ast.get_docstring(node)] == []


def test_pages_do_not_know_each_other():
    names = {path.stem for path in PAGES}
    for path in PAGES:
        modules = [node.module for node in ast.walk(tree(path)) if isinstance(node, ast.ImportFrom)]
        assert all(module.startswith("gpudash") for module in modules), name(path)
        assert not imported(path) & (names - {"gpudash"})
