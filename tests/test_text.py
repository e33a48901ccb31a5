"""Both languages say everything, with the same values in it, and nothing is left over."""

import ast
import re
import string
from pathlib import Path

import pytest

from gpudash.scenario import choices, fields
from gpudash.tables import DATA, read_yaml
from gpudash.text import LANGUAGES, Text

ROOT = Path(__file__).resolve().parents[1]
TOPICS = sorted(path.stem for path in (DATA / "text" / "en").glob("*.yaml"))
CODE = [ROOT / "app.py", *(path for folder in ("gpudash", "ui", "pages") for path in (ROOT / folder).rglob("*.py"))]
# Names of things that the core already knows and that no page offers yet.
AWAITED = ("scores.method_",)
CHINESE = re.compile(r"[\u4e00-\u9fff]")


def sentences(language: str, topic: str) -> dict[str, str]:
    return read_yaml(DATA / "text" / language / f"{topic}.yaml")


def placeholders(sentence: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name is not None}


def test_both_languages_have_the_same_topics():
    assert sorted(path.stem for path in (DATA / "text" / "zh").glob("*.yaml")) == TOPICS


@pytest.mark.parametrize("topic", TOPICS)
def test_both_languages_have_the_same_keys(topic):
    english, chinese = (set(sentences(language, topic)) for language in LANGUAGES)
    assert english == chinese


@pytest.mark.parametrize("topic", TOPICS)
def test_both_languages_put_the_same_values_into_a_sentence(topic):
    english, chinese = (sentences(language, topic) for language in LANGUAGES)
    assert {key: placeholders(text) for key, text in english.items()} == {
        key: placeholders(text) for key, text in chinese.items()
    }


@pytest.mark.parametrize("topic", TOPICS)
def test_an_english_sentence_holds_no_chinese(topic):
    shown = {key: text for key, text in sentences("en", topic).items() if key != "language_zh"}
    assert not [key for key, text in shown.items() if CHINESE.search(text)]


def test_every_input_has_a_label_and_a_help_and_every_choice_a_name():
    wanted = {f"{path}.{part}" for path in fields() for part in ("label", "help", *choices(path))}
    assert wanted <= set(sentences("en", "fields"))


def test_a_label_or_help_belongs_to_an_input_that_exists():
    paths = {".".join(key.split(".")[:2]) for key in sentences("en", "fields")}
    assert paths <= set(fields())


def texts_in_code() -> tuple[set[str], set[str]]:
    """All string constants and names in the code, and the constant beginnings of strings that are put together."""
    whole, beginnings = set(), set()
    for path in CODE:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr) and node.values and isinstance(node.values[0], ast.Constant):
                beginnings.add(node.values[0].value)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                whole.add(node.value)
            elif isinstance(node, ast.Attribute):
                whole.add(node.attr)
            elif isinstance(node, ast.keyword) and node.arg:
                whole.add(node.arg)
    return whole, beginnings


def test_no_sentence_is_left_over():
    whole, beginnings = texts_in_code()
    named_apart = {"brief_page", "catalogue_page", "claims_page", "scores_page", "storage_page"}
    pages = {path.stem for path in (ROOT / "pages").glob("*.py")} | named_apart

    def is_used(topic: str, name: str) -> bool:
        key = f"{topic}.{name}"
        if (
            key in whole
            or key.startswith(AWAITED)
            or any(key.startswith(start) for start in beginnings if start.startswith(f"{topic}."))
        ):
            return True
        # a page names its sentences without its topic: page.section("section_prices"), page.tabs(ours=...)
        return topic in pages and (name.removeprefix("tab_") in whole or f".{name}" in whole)

    unused = [f"{topic}.{name}" for topic in TOPICS for name in sentences("en", topic) if not is_used(topic, name)]
    assert unused == [], "\n".join(unused)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_share_just_short_of_everything_does_not_read_as_everything(language):
    """An availability of 99.95 % is a promise that many give, 100 % is one that nobody gives."""
    percent = Text(language).percent
    assert [percent(share) for share in (0.9995, 0.995, 0.99, 0.98, 1)] == ["99.95%", "99.5%", "99%", "98%", "100%"]
