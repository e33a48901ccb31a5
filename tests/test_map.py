"""The map of the modules is whole and says what the modules say."""

from docs.map import MAP, missing, refreshed

CONTENT = MAP.read_text(encoding="utf-8")


def test_every_module_has_a_place_on_the_map():
    """Put a line `- [name](../path.py)` under the heading where it belongs, then `make readme`."""
    assert missing(CONTENT) == []


def test_the_map_says_of_each_module_what_its_first_sentence_says():
    """After a change of one: `make readme`. A file that is gone stops it by name."""
    assert refreshed(CONTENT) == CONTENT
