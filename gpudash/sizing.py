"""Sizing: what one server of each shape can do for the workload, and with which layout.

A server shape is a GPU type in a number per server. Everything is computed once per shape, as columns, never per offer:
a thousand offers share about a hundred and fifty shapes.
"""

from dataclasses import dataclass, fields, replace
from functools import lru_cache, partial

import numpy as np

from gpudash.assumptions import Known
from gpudash.engines import EngineParameters, card_parameters
from gpudash.errors import GpudashError
from gpudash.memory import maximum_batch, weights_gb
from gpudash.model import load_precision, read_parameters
from gpudash.queueing import highest_utilisation, queue_wait_s
from gpudash.result import Message
from gpudash.scenario import Scenario, bounds
from gpudash.sizing_runs import sample_columns, training_columns
from gpudash.speed import Cards, InferenceSpeed, Transformer, inference_speed
from gpudash.tables import sourced_values
from gpudash.units import MS_PER_S

TOKEN_FAMILIES = ("language", "encoder")
TENSOR_PARALLEL = np.array([1, 2, 4, 8, 16])
TRAFFIC_OF_A_SERVER = ("prefix_cache_hit_fraction", "target_utilisation_fraction", "runs")
LOWEST_UTILISATION = bounds("traffic.target_utilisation_fraction")[0]  # a server idler than that is no answer
BATCH_STEPS = 40  # batch sizes tried between 1 and the largest, evenly spread in ratio


@dataclass(frozen=True, eq=False)
class Shapes:
    """Distinct server shapes among the offers, and each offer's shape."""

    gpu_row: np.ndarray  # [shapes], row of the catalogue's hardware
    gpus_per_server: np.ndarray  # [shapes]
    gpu_fraction: np.ndarray  # [shapes], below 1 for a slice of a card
    of_offer: np.ndarray  # [offers]

    @classmethod
    @lru_cache(maxsize=16)
    def of(cls, offers) -> "Shapes":
        """The shapes of a catalogue's offers; kept, so that the same offers give the same object."""
        per_mille = np.rint(np.asarray(offers.gpu_fraction) * 1000).astype(np.int64)
        key = (offers.gpu_row.astype(np.int64) * 10_000 + offers.gpus_per_server) * 1001 + per_mille
        _, first, of_offer = np.unique(key, return_index=True, return_inverse=True)
        return cls(offers.gpu_row[first], offers.gpus_per_server[first], offers.gpu_fraction[first], of_offer)

    def __len__(self) -> int:
        return len(self.gpu_row)

    def take(self, shapes) -> "Shapes":
        """Only these shapes, without their offers."""
        return Shapes(self.gpu_row[shapes], self.gpus_per_server[shapes], self.gpu_fraction[shapes], np.empty(0, int))


@dataclass(frozen=True)
class Sized:
    """What one server of each shape does, with the layout that serves most; columns over shapes.

    Where a shape cannot serve, `because` holds the reason and the speed columns are NaN. `holds` says whether the model
    fits in memory at all, `meets_targets` whether the latency targets or the deadline can be met too.
    """

    holds: np.ndarray
    meets_targets: np.ndarray
    because: tuple[Message | None, ...]
    tensor_parallel: np.ndarray
    replicas_per_server: np.ndarray
    batch_size: np.ndarray
    usable_gb: np.ndarray
    requests_per_s: np.ndarray  # of one server, fully busy; less where the queue allows it less than the target share
    utilisation_fraction: np.ndarray  # most of its time that a server may be busy; NaN where nobody waits for it
    output_tokens_per_s: np.ndarray
    work_per_s: np.ndarray  # of one server: output tokens, else requests, samples or training tokens
    ttft_ms: np.ndarray
    tpot_ms: np.ndarray
    speed_margin: np.ndarray  # target / best reachable, 1 or more; NaN without a target
    speed_low: np.ndarray
    speed_high: np.ndarray
    servers_per_run: np.ndarray  # training: whole servers of one run
    run_hours: np.ndarray

    @classmethod
    def blank(cls, shapes: Shapes, usable_gb: np.ndarray, **columns) -> "Sized":
        """The given columns; what this kind of work has no figure for is NaN (or one, for counts)."""
        count = len(shapes)
        counts = {name: np.ones(count, dtype=int) for name in ("tensor_parallel", "replicas_per_server", "batch_size")}
        counts["servers_per_run"] = np.zeros(count, dtype=int)
        missing = {
            field.name: np.full(count, np.nan) for field in fields(cls) if field.name not in counts | columns.keys()
        }
        return cls(**{**missing, **counts, "usable_gb": usable_gb, **columns})

    def take(self, shapes) -> "Sized":
        """Only these shapes."""
        columns = {field.name: getattr(self, field.name)[shapes] for field in fields(self) if field.name != "because"}
        return Sized(because=tuple(self.because[shape] for shape in shapes), **columns)


@dataclass(frozen=True)
class _Layouts:
    """What a server of each shape does in every layout: arrays that broadcast to [shapes, degrees, batch sizes]."""

    degrees: np.ndarray  # GPUs in tensor parallel
    replicas: np.ndarray
    batch: np.ndarray
    speed: InferenceSpeed
    holds: np.ndarray  # [shapes], whether the memory holds the model at all
    fits: np.ndarray
    in_time: np.ndarray  # within the latency targets, the wait in the queue included
    utilisation: np.ndarray  # most of its time that a server may be busy
    requests_per_s: np.ndarray  # of one server
    ttft_ms: np.ndarray


def size_inference(known: Known, shapes: Shapes, usable_gb: np.ndarray) -> Sized:
    """The layout of every shape that serves the most requests per second within the latency targets."""
    tried = _layouts(known, shapes, usable_gb)
    per_server, meets = tried.requests_per_s, tried.in_time.any(axis=(1, 2))
    best = np.where(tried.in_time, per_server, -1.0).reshape(len(shapes), -1).argmax(axis=1)
    pick = _Picker(best, per_server.shape)
    best_ms = [
        np.where(tried.fits, value, np.inf).reshape(len(shapes), -1).min(axis=1)
        for value in (tried.ttft_ms, tried.speed.tpot_ms)
    ]
    blank = np.where(meets, 1.0, np.nan)
    return Sized.blank(
        shapes,
        usable_gb,
        holds=tried.holds,
        meets_targets=meets,
        because=_inference_reasons(known, shapes, tried.holds, meets, per_server, *best_ms),
        tensor_parallel=pick(tried.degrees).astype(int),
        replicas_per_server=pick(tried.replicas).astype(int),
        batch_size=pick(tried.batch).astype(int),
        requests_per_s=pick(per_server) * blank,
        utilisation_fraction=pick(tried.utilisation) * blank,
        output_tokens_per_s=pick(per_server) * (known.output_tokens or np.nan) * blank,
        work_per_s=pick(per_server) * (known.output_tokens or 1) * blank,
        ttft_ms=pick(tried.ttft_ms) * blank,
        tpot_ms=pick(tried.speed.tpot_ms) * (blank if known.output_tokens else np.nan),
        speed_margin=_margin((known.ttft_ms, known.tpot_ms), best_ms) * blank,
        speed_low=pick(tried.speed.low_factor),
        speed_high=pick(tried.speed.high_factor),
    )


def _layouts(known: Known, shapes: Shapes, usable_gb: np.ndarray) -> _Layouts:
    """Every tensor-parallel degree that divides the server, and batch sizes up to what the memory holds.

    The time to first token includes the wait in the queue at the target utilisation. A shape that would meet the
    targets but for that wait is kept less busy: it counts for correspondingly fewer requests.
    """
    degrees = TENSOR_PARALLEL[None, :]
    possible = (degrees <= shapes.gpus_per_server[:, None]) & (shapes.gpus_per_server[:, None] % degrees == 0)
    largest = np.where(possible, _largest_batch(known, usable_gb[:, None], degrees), 0)
    cap = sourced_values("sizing_parameters")["maximum_batch_requests"]
    grid = np.unique(np.rint(np.geomspace(1, cap, BATCH_STEPS)))
    batch = np.clip(grid, 1, np.maximum(largest, 1)[:, :, None])
    speed = shape_speed(known, shapes, axes=3)(gpu_count=degrees[:, :, None], batch_size=batch)
    replicas = (shapes.gpus_per_server[:, None] // degrees)[:, :, None]
    per_server = speed.requests_per_s * replicas
    slots, service_s = batch * replicas, batch / speed.requests_per_s
    target = known.scenario.traffic.target_utilisation_fraction
    ttft_ms = speed.ttft_ms + MS_PER_S * queue_wait_s(slots, service_s, target)
    fits = (largest >= 1)[:, :, None] & np.isfinite(per_server)
    ttft_limit, tpot_limit = known.ttft_ms or np.inf, known.tpot_ms or np.inf
    quick = fits & (speed.tpot_ms <= tpot_limit)
    in_time = quick & (ttft_ms <= ttft_limit)
    utilisation = np.full(per_server.shape, target)
    eased = quick & (speed.ttft_ms < ttft_limit) & ~in_time.any(axis=(1, 2))[:, None, None]
    if eased.any():
        room_s = (ttft_limit - speed.ttft_ms[eased]) / MS_PER_S
        utilisation[eased] = highest_utilisation(slots[eased], service_s[eased], room_s, target)
        in_time |= eased & (utilisation >= LOWEST_UTILISATION)
        per_server = per_server * utilisation / target
        ttft_ms = speed.ttft_ms + MS_PER_S * queue_wait_s(slots, service_s, utilisation)
    holds = (largest >= 1).any(axis=1)
    return _Layouts(degrees[:, :, None], replicas, batch, speed, holds, fits, in_time, utilisation, per_server, ttft_ms)


class _Picker:
    """Takes each shape's chosen (degree, batch) out of an array that broadcasts to [shapes, degrees, batches]."""

    def __init__(self, best: np.ndarray, shape: tuple[int, ...]):
        self.best, self.shape = best, shape

    def __call__(self, values) -> np.ndarray:
        flat = np.broadcast_to(values, self.shape).reshape(self.shape[0], -1)
        return np.take_along_axis(flat, self.best[:, None], axis=1)[:, 0]


def _largest_batch(known: Known, usable_gb, degrees) -> np.ndarray:
    """Most requests one replica holds; the replicas of a server have the card's memory to themselves."""
    work = known.scenario.workload
    reserved_gb = (work.buffer_gb or 0.0) + work.state_gb
    return maximum_batch(
        known.model,
        known.weight_precision,
        work.kv_precision,
        work.context_tokens + known.output_tokens,
        usable_gb=usable_gb - reserved_gb / degrees,
        gpu_count=degrees,
        kv_layout=work.kv_layout,
    )


def shape_speed(known: Known, shapes: Shapes, axes: int):
    """`inference_speed` of every shape at the workload's lengths: a function of `gpu_count` and `batch_size`.

    Both broadcast to [shapes, ...] with so many axes.
    """
    work, hardware = known.scenario.workload, known.catalogue.hardware
    per_shape = (slice(None), *[None] * (axes - 1))
    rows, fraction = shapes.gpu_row[per_shape], shapes.gpu_fraction[per_shape]
    transformer = Transformer.of(known.model, known.weight_precision, work.kv_precision)
    cards = _of_shapes(Cards, _all_cards(hardware, transformer.compute_bits), rows)
    cards = replace(
        cards,
        bandwidth_gb_per_s=cards.bandwidth_gb_per_s * fraction,
        peak_tflops=cards.peak_tflops * fraction,
        peak_16bit_tflops=cards.peak_16bit_tflops * fraction,
    )
    return partial(
        inference_speed,
        transformer,
        cards,
        _of_shapes(EngineParameters, _all_parameters(known.engine, hardware), rows),
        context_tokens=work.context_tokens,
        output_tokens=known.output_tokens,
        prefix_cache_hit_fraction=known.scenario.traffic.prefix_cache_hit_fraction,
    )


def _of_shapes(kind, every, rows):
    """The columns of a record of all cards, taken at these rows."""
    return kind(*(getattr(every, field.name)[rows] for field in fields(kind)))


def _margin(targets_ms, best_ms) -> np.ndarray:
    """The smallest of target / best reachable over the targets that are set; NaN without any."""
    ratios = [target / best for target, best in zip(targets_ms, best_ms) if target is not None]
    return np.min(ratios, axis=0) if ratios else np.full(len(best_ms[0]), np.nan)


@lru_cache(maxsize=32)
def _all_cards(hardware, compute_bits: int) -> Cards:
    return Cards.of(hardware, np.arange(len(hardware)), compute_bits)


@lru_cache(maxsize=32)
def _all_parameters(engine: str, hardware) -> EngineParameters:
    return card_parameters(engine, hardware, range(len(hardware)))


def _inference_reasons(
    known: Known, shapes: Shapes, holds, meets, per_server, best_ttft, best_tpot
) -> tuple[Message | None, ...]:
    """Why a shape cannot serve, one message per shape; None where it can."""
    predictable = np.isfinite(per_server).reshape(len(shapes), -1).any(axis=1)
    work, names = known.scenario.workload, known.catalogue.hardware.names
    memory_reason = _memory_reasons(known, shapes)
    reasons: list[Message | None] = []
    for shape in range(len(shapes)):
        on = {"gpus": int(shapes.gpus_per_server[shape]), "gpu": names[shapes.gpu_row[shape]]}
        if meets[shape]:
            reasons.append(None)
        elif not holds[shape]:
            reasons.append(memory_reason(shape, on))
        elif not predictable[shape]:
            reasons.append(Message.of("sizing.no_figures", gpu=on["gpu"]))
        elif known.ttft_ms is not None and best_ttft[shape] > known.ttft_ms:
            reasons.append(
                Message.of("sizing.too_slow_ttft", best=float(best_ttft[shape]), target=float(work.ttft_ms), **on)
            )
        elif known.tpot_ms is not None and best_tpot[shape] > known.tpot_ms:
            reasons.append(
                Message.of("sizing.too_slow_tpot", best=float(best_tpot[shape]), target=float(work.tpot_ms), **on)
            )
        else:
            reasons.append(
                Message.of("sizing.too_slow_both", ttft=float(best_ttft[shape]), tpot=float(best_tpot[shape]), **on)
            )
    return tuple(reasons)


def _memory_reasons(known: Known, shapes: Shapes):
    """A function from a shape to why its memory does not do."""
    work, precision = known.scenario.workload, load_precision(known.weight_precision).title
    needed_gb = float(weights_gb(known.model, known.weight_precision))
    usable_gb = known.catalogue.hardware.usable_gb[shapes.gpu_row] * shapes.gpu_fraction * shapes.gpus_per_server
    room_gb = usable_gb * _engine_share()
    model = {"model": known.model.title, "precision": precision}

    def reason(shape: int, on: dict) -> Message:
        if needed_gb < room_gb[shape]:
            tokens = work.context_tokens + known.output_tokens
            return Message.of("sizing.no_room_for_a_request", **model, tokens=tokens, **on)
        return Message.of("sizing.does_not_fit", **model, needed=needed_gb, usable=float(room_gb[shape]), **on)

    return reason


def _engine_share() -> float:
    return read_parameters()["engine_share"]["value"]


def size(known: Known, shapes: Shapes) -> Sized:
    """`size_anew`, kept: most of what people change (load, budget, place, prices) leaves a server's work as it is."""
    return _kept(_about_a_server(known), shapes)


def _about_a_server(known: Known):
    """The question without all that a server's work does not depend on; nothing else is asked of `size_anew`."""
    asked = known.scenario
    horizon_months = asked.purchase.horizon_months if known.is_training else 1
    traffic = {name: getattr(asked.traffic, name) for name in TRAFFIC_OF_A_SERVER}
    scenario = Scenario(workload=asked.workload, traffic=traffic, purchase={"horizon_months": horizon_months})
    nothing_else = {"units_per_usd": 1.0, "budget_usd_per_month": None, "countries": frozenset(), "warnings": ()}
    return replace(known, scenario=scenario, **nothing_else)


def size_anew(known: Known, shapes: Shapes) -> Sized:
    """What one server of each shape does for this kind of work; what is not modelled is refused with a sentence."""
    model = known.model
    usable_gb = known.catalogue.hardware.usable_gb[shapes.gpu_row] * shapes.gpu_fraction
    if known.is_training:
        if model.family not in TOKEN_FAMILIES:
            raise GpudashError("sizing.training_not_modelled", title=model.title, family=model.family)
        return Sized.blank(shapes, usable_gb, **training_columns(known, shapes, usable_gb))
    if known.counts_samples:
        return Sized.blank(shapes, usable_gb, **sample_columns(known, shapes, usable_gb))
    if model.family not in TOKEN_FAMILIES:
        raise GpudashError("sizing.kind_not_modelled", title=model.title, family=model.family)
    return size_inference(known, shapes, usable_gb)


_kept = lru_cache(maxsize=64)(size_anew)
