"""What an operator sees of a running server: a line of JSON per calculation and per fault, and counts for Prometheus.

Nothing of a user's goes in: no names, notes, links or inputs, and of an error only its type and the places in the
code, because its message may quote an input.
"""

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from time import perf_counter
from traceback import extract_tb

from prometheus_client import Counter, Gauge, Histogram, Info, disable_created_metrics
from streamlit import runtime
from streamlit.runtime.stats import ACTIVE_SESSIONS_FAMILY

import gpudash
from gpudash.catalogue import Catalogue, load_catalogue, snapshots
from gpudash.errors import GpudashError
from gpudash.evaluate import evaluate
from gpudash.result import Result
from gpudash.scenario import Scenario
from gpudash.stages import Stages
from gpudash.tables import DATA
from gpudash.text import Text

disable_created_metrics()

LOG = logging.getLogger("gpudash")
FACTS = "facts"  # the attribute of a log record that holds what the line says
SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

SAY = Text("en")  # the language of the log and of Prometheus
EVALUATIONS = Counter("gpudash_evaluations", SAY("observe.evaluations"), ["outcome"])
EVALUATION = Histogram("gpudash_evaluation_seconds", SAY("observe.evaluation_seconds"), buckets=SECONDS)
STAGE = Histogram("gpudash_stage_seconds", SAY("observe.stage_seconds"), ["stage"], buckets=SECONDS)
PAGE = Histogram("gpudash_page_seconds", SAY("observe.page_seconds"), ["page"], buckets=SECONDS)
FAULTS = Counter("gpudash_faults", SAY("observe.faults"), ["part"])
SESSIONS = Gauge("gpudash_sessions", SAY("observe.sessions"))
BUILD = Info("gpudash_build", SAY("observe.build"))


class JsonLines(logging.Formatter):
    """A log record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of one record."""
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"time": moment, "level": record.levelname.lower(), "event": record.getMessage()}
        return json.dumps(line | getattr(record, FACTS, {}), ensure_ascii=False)


def start() -> None:
    """Log to standard output from here on, and let the counts know about this server."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(JsonLines())
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
    LOG.propagate = False
    SESSIONS.set_function(_sessions)
    BUILD.info(_build())


def evaluate_observed(scenario: Scenario, catalogue: Catalogue) -> Result:
    """What `evaluate` returns, counted and with a line in the log. Raises GpudashError."""
    stages, outcome, began = Stages(), "failed", perf_counter()
    try:
        result = evaluate(scenario, catalogue, stages)
        outcome = "nothing_fits" if result.recommendation is None else "answered"
        return result
    except GpudashError:
        outcome = "refused"
        raise
    finally:
        _note(scenario, catalogue, outcome, perf_counter() - began, stages)


def _note(scenario: Scenario, catalogue: Catalogue, outcome: str, seconds: float, stages: Stages) -> None:
    EVALUATIONS.labels(outcome).inc()
    EVALUATION.observe(seconds)
    for stage, taken in stages.seconds.items():
        STAGE.labels(stage).observe(taken)
    for stage, error in stages.failures.items():
        fault(stage, error)
    facts = _build() | {
        "outcome": outcome,
        "kind": scenario.workload.kind,
        "snapshot": catalogue.snapshot,
        "ms": _ms(seconds),
        "stages_ms": {stage: _ms(taken) for stage, taken in stages.seconds.items()},
    }
    LOG.info("evaluate", extra={FACTS: facts})


def fault(part: str, error: BaseException) -> None:
    """Count a fault of the program and log where it happened; of a refusal also which one, without its values."""
    FAULTS.labels(part).inc()
    places = [f"{_within(frame.filename)}:{frame.lineno} {frame.name}" for frame in extract_tb(error.__traceback__)]
    kind = error.code if isinstance(error, GpudashError) else type(error).__name__
    LOG.error("fault", extra={FACTS: _build() | {"part": part, "error": kind, "places": places}})


@contextmanager
def drawing(page: str) -> Iterator[None]:
    """Measure how long a page takes to draw."""
    with PAGE.labels(page).time():
        yield


def health() -> dict:
    """Whether a catalogue can be read and a scenario calculated now: `status` is `ok` or `failing`, with the reason."""
    began = perf_counter()
    try:
        evaluate(Scenario(), load_catalogue())
    except GpudashError as error:
        return _build() | {"status": "failing", "because": str(error)}
    except Exception as error:
        fault("health", error)
        return _build() | {"status": "failing", "because": type(error).__name__}
    return _build() | {"status": "ok", "evaluate_ms": _ms(perf_counter() - began)}


def _build() -> dict[str, str]:
    return {"version": gpudash.__version__, "snapshot": snapshots()[-1]}


def _sessions() -> int:
    server = runtime.get_instance()
    stats = server.stats_mgr.get_stats(family_names=[ACTIVE_SESSIONS_FAMILY])
    return sum(stat.value for stat in stats[ACTIVE_SESSIONS_FAMILY])


def _within(file: str) -> str:
    """A file of the program by its path inside the program."""
    return file.removeprefix(f"{DATA.parent}/")


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)
