"""Waiting turned into GPU-hours and money: what a shorter wait in each training step is worth.

All of the wait is taken as exposed: nothing of it is hidden behind computing by reading ahead or by sending gradients
early. So every figure here is the most that can be saved.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from gpudash.errors import GpudashError
from gpudash.result import Message, Result
from gpudash.tables import DATA, read_yaml
from gpudash.training_network import runs_of


@dataclass(frozen=True)
class Wait:
    """One published wait on the GPU-hours of a plan; `step_ms` is the step's length with the longer wait in it."""

    name: str
    before_ms: float
    after_ms: float
    step_ms: float
    saved_fraction: float  # of the GPU-hours
    gpu_hours_saved: float
    usd_saved: float
    assumption: Message
    source: str


def saved_fraction(step_ms, before_ms, after_ms):
    """Share of a run's time that a shorter wait saves if all of it is exposed: (before - after) / step.

    `step_ms` contains the wait before. Raises `waits.order` unless 0 <= after <= before <= step.
    """
    step, before, after = (np.asarray(value, dtype=float) for value in (step_ms, before_ms, after_ms))
    if not ((after >= 0) & (after <= before) & (before <= step) & (step > 0)).all():
        raise GpudashError("waits.order", step=float(step.min()), before=float(before.max()), after=float(after.max()))
    return ((before - after) / step)[()]


def step_ms_for_gain(before_ms, after_ms, gain_fraction):
    """The step at which a shorter wait does so much more work per time: (before - after) (1 + gain) / gain.

    From step / (step - (before - after)) = 1 + gain.
    """
    return (before_ms - after_ms) * (1 + gain_fraction) / gain_fraction


def step_ms_for_less_time(before_ms, after_ms, saved_fraction_of_time):
    """The step at which a shorter wait saves that share of the time: (before - after) / share."""
    return (before_ms - after_ms) / saved_fraction_of_time


def published_waits(gpu_hours: float, usd_per_gpu_hour: float) -> tuple[Wait, ...]:
    """The article's waits on so many GPU-hours: the two readings of its 27 %, and the most its all-reduce can give."""
    io, ring = _published()["io"], _published()["all_reduce"]
    more_work = step_ms_for_gain(io["before_ms"], io["after_ms"], io["gain_fraction"])
    less_time = step_ms_for_less_time(io["before_ms"], io["after_ms"], io["gain_fraction"])
    readings = (
        ("io", "more_work", more_work),
        ("io", "less_time", less_time),
        ("all_reduce", "nothing_else", float(ring["before_ms"])),
    )
    return tuple(_wait(*reading, gpu_hours, usd_per_gpu_hour) for reading in readings)


def waits_of(result: Result) -> tuple[Wait, ...]:
    """The published waits on the GPU-hours of the recommended runs; empty where nothing is trained."""
    choice = result.leading
    if choice is None or not choice.run_hours:
        return ()
    return published_waits(*runs_of(result))


@cache
def _published() -> dict:
    return read_yaml(DATA / "published" / "waits.yaml")


def _wait(name: str, reading: str, step_ms: float, gpu_hours: float, usd_per_gpu_hour: float) -> Wait:
    wait = _published()[name]
    saved = float(saved_fraction(step_ms, wait["before_ms"], wait["after_ms"]))
    return Wait(
        name=name,
        before_ms=wait["before_ms"],
        after_ms=wait["after_ms"],
        step_ms=step_ms,
        saved_fraction=saved,
        gpu_hours_saved=saved * gpu_hours,
        usd_saved=saved * gpu_hours * usd_per_gpu_hour,
        assumption=Message.of(f"waits.{reading}", step=step_ms),
        source=_published()["source"],
    )
