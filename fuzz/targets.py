"""What is fuzzed: a target takes bytes and answers or refuses with a GpudashError; all else it raises is a find."""

import contextlib
import csv
import io
import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from urllib.parse import parse_qsl

import yaml

from gpudash import share
from gpudash.__main__ import main
from gpudash.brief import Brief
from gpudash.catalogue import load_catalogue
from gpudash.catalogue_import import import_offers
from gpudash.commands import score_table
from gpudash.documents import decode_document
from gpudash.errors import GpudashError
from gpudash.evaluate import evaluate
from gpudash.export_files import ACTIONS, FILES
from gpudash.markdown import escaped
from gpudash.memory_rows import fit_rows, memory_rows
from gpudash.mix_request import mix
from gpudash.result import Result
from gpudash.result_json import result_json
from gpudash.scenario import Scenario
from gpudash.speed_rows import predict_rows
from gpudash.storage import tiers
from gpudash.tables import columns_of
from gpudash.text import LANGUAGES, Text
from gpudash.training_rows import predict_training_rows

TEXTS = tuple(Text(language) for language in LANGUAGES)
LONGEST_SENTENCE = 4_000
MOST_ARGUMENTS = 12
# These would write files or ask the network; everything else of the command line may be asked for.
NOT_ASKED = {"-o", "--add", "--summary", "refresh", "-"}
TABLES = (predict_rows, predict_training_rows, fit_rows, memory_rows)
ANSWERS = (
    {},
    {"price_unit": "gpu", "term": "on_demand", "period": "hour", "currency": "USD", "provider": "P", "region": "r"},
    {"price_unit": "server", "term": "reserved_1y", "period": "month", "currency": "CNY", "as_of": "2026-11-01"},
)
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
NAMED = ("about.name", "about.author", "about.notes")


def link(content: bytes) -> None:
    """Any address gives a scenario that can be passed on, or a sentence."""
    address = _words(content)
    scenario = share.scenario_of_url(address)
    assert share.scenario_of_url(share.url(scenario)) == share.pinned(scenario)
    share.decode_compared(dict(parse_qsl(address.partition("?")[2])))


def scenario(content: bytes) -> None:
    """Any file gives a scenario that can be written down and read again, or a sentence."""
    read = Scenario.read(decode_document(content, "file"))
    assert Scenario.read(json.loads(json.dumps(read.model_dump(mode="json")))) == read
    share.encode(read)


def answer(content: bytes) -> None:
    """Any scenario gives an answer without NaN in both languages, or a sentence."""
    asked = Scenario.read(decode_document(content, "file"))
    result = evaluate(asked, load_catalogue(asked.catalogue.snapshot))
    for text in TEXTS:
        json.dumps(result_json(result, text), allow_nan=False)


def sheet(content: bytes) -> None:
    """Any price sheet gives offers and refused rows, or a sentence; its first byte chooses what was answered before."""
    answers = ANSWERS[content[0] % len(ANSWERS)] if content else {}
    report = import_offers(content[1:], "prices", load_catalogue(), **answers)
    for row in (*report.refused, *report.notes):
        _say(row.because.code, dict(row.because.values))
    assert report.rows == len(report.offers) + len(report.refused) + report.merged


def table(content: bytes) -> None:
    """Any table of set-ups gives a prediction or a reason for each row, or a sentence."""
    columns = columns_of(content.decode("utf-8", "replace"), "table")
    for predict in TABLES:
        _outcome(lambda predict=predict: predict(columns, load_catalogue().hardware))


def request(content: bytes) -> None:
    """Any request for a purchase mix, a storage tier or a ranking gives an answer, or a sentence."""
    asked = decode_document(content, "file")
    for work in (mix, tiers, lambda asked: score_table(asked, "file")):
        _outcome(lambda work=work: work(asked))


def command(content: bytes) -> None:
    """Any arguments, one per line, end with an answer, or with one sentence and the exit code 2."""
    arguments = _words(content).split("\n")[:MOST_ARGUMENTS]
    if any(argument.partition("=")[0] in NOT_ASKED for argument in arguments):
        return
    with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
        complaint = io.StringIO()
        with contextlib.redirect_stderr(complaint):
            code = main(arguments)
    assert code in (0, 2) or (code == 1 and "catalogue" in arguments)
    assert (code == 2) <= (complaint.getvalue().count("\n") == 1)


def names(content: bytes) -> None:
    """Whatever a decision is called, no file made of it holds a formula, a value or a line that the name brought."""
    words = content.decode("utf-8", "replace")
    named = _example().scenario.with_values(dict.fromkeys(NAMED, words[:200]))
    brief = Brief(replace(_example(), scenario=named), TEXTS[len(content) % 2], "https://gpu.example.com/")
    for ending, make in FILES.items():
        if ending not in (".pdf", ".xlsx"):  # too slow for a million inputs; the suite has them
            READERS[ending](make(brief), brief, ending)


def _csv(content: bytes, brief: Brief, ending: str) -> None:
    for row in csv.reader(io.StringIO(content.decode("utf-8-sig"))):
        for cell in row:
            assert not cell.startswith(FORMULA_STARTS) or _is_number(cell)


def _yaml(content: bytes, brief: Brief, ending: str) -> None:
    assert list(yaml.safe_load_all(content)) == _unnamed(ending)


def _json(content: bytes, brief: Brief, ending: str) -> None:
    assert json.loads(content)["scenario"]["about"]["name"] == brief.result.scenario.about.name


def _markdown(content: bytes, brief: Brief, ending: str) -> None:
    """The name is the heading, on one line, and opens neither HTML nor a link."""
    heading = content.decode().split("\n")[0]
    assert heading == f"# {escaped(brief.title)}"
    assert not re.search(r"(?<!\\)(\\\\)*[<\[`$]", heading)


def _lines(content: bytes, brief: Brief, ending: str) -> None:
    """A name may fill lines of a file but never add one."""
    unfolded = content.decode().replace("\r\n ", "")
    assert len(unfolded.splitlines()) == _unnamed(ending)


READERS: dict[str, Callable[[bytes, Brief, str], None]] = {
    ".csv": _csv,
    ".focus.csv": _csv,
    ".kubernetes.yaml": _yaml,
    ".sky.yaml": _yaml,
    ".dstack.yml": _yaml,
    ".json": _json,
    ".md": _markdown,
    ".ics": _lines,
    ".tfvars": _lines,
}
TARGETS: dict[str, Callable[[bytes], None]] = {
    work.__name__: work for work in (link, scenario, answer, sheet, table, request, command, names)
}


def check(target: str, content: bytes) -> str:
    """`answered` or `refused`; raises what would have reached a user as a traceback, and a refusal nobody can read."""
    return _outcome(lambda: TARGETS[target](content))


def _outcome(work: Callable[[], object]) -> str:
    try:
        work()
    except GpudashError as refusal:
        _say(refusal.code, refusal.values)
        return "refused"
    return "answered"


def _say(code: str, values: dict) -> None:
    for text in TEXTS:
        sentence = text(code, **{name: text.value(value) for name, value in values.items()})
        assert 0 < len(sentence) <= LONGEST_SENTENCE
        sentence.encode()


@cache
def _example() -> Result:
    return evaluate(Scenario(), load_catalogue())


@cache
def _unnamed(ending: str):
    """What the file of a decision without a name holds: its values, or how many lines it has."""
    content = ACTIONS[ending](Brief(_example(), TEXTS[0], "https://gpu.example.com/"))
    if READERS[ending] is _yaml:
        return list(yaml.safe_load_all(content))
    return len(content.decode().replace("\r\n ", "").splitlines())


def _words(content: bytes) -> str:
    """Bytes as the words of an address or of a command line, which hold no NUL."""
    return content.decode("utf-8", "surrogateescape").replace("\0", "")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
