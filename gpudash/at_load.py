"""How a fleet answers at the load it really gets: the fewer requests run together, the faster each of them is."""

from dataclasses import dataclass, fields
from functools import partial

import numpy as np

from gpudash.assumptions import Known
from gpudash.demand import Load, inference_servers
from gpudash.queueing import queue_wait_s
from gpudash.result import Response
from gpudash.sizing import Shapes, Sized, shape_speed
from gpudash.units import MS_PER_S

LOADS = ("at_peak", "at_mean", "slow_at_peak")
CURVE_POINTS = 25
NUMBERS_TRIED = 32  # of requests at once; between two of them a mixture of experts bends by less than 0.1 %


@dataclass(frozen=True)
class FleetResponses:
    """How the servers of the first month answer, one entry per server shape; NaN where a shape cannot serve.

    The fields of `responses` have a column for each of LOADS: the busiest hour, the mean load, and the busiest hour
    again if the cards are as slow as the slow end of the band allows.
    """

    servers: np.ndarray  # at the peak of the first month
    responses: Response

    def of(self, shape: int) -> dict[str, Response | None]:
        """The answers of one shape by load; None where it cannot serve."""
        columns = [getattr(self.responses, field.name)[shape].tolist() for field in fields(Response)]
        found = [Response(*(value if np.isfinite(value) else None for value in row)) for row in zip(*columns)]
        return {name: one if one.batch_size else None for name, one in zip(LOADS, found)}


def fleet_responses(known: Known, shapes: Shapes, sized: Sized) -> FleetResponses | None:
    """What the servers of every shape answer with in the first month; None where no user waits for tokens or vectors.

    The busiest hour has the most load, with its room for bursts, per running server; the mean is all load of the week,
    without that room, per server-hour.
    """
    if known.is_training or known.counts_samples or known.scenario.workload.kind != "inference":
        return None
    traffic, load = known.scenario.traffic, known.load.requests_per_s[0]
    month = Load(load[None, :], np.zeros(1, dtype=int))
    capacity = np.where(sized.meets_targets, sized.requests_per_s, 1.0)
    servers = inference_servers(traffic, month, capacity, sized.replicas_per_server)[:, 0]
    busiest = (load / np.maximum(servers, 1)).max(axis=1)
    mean = load.sum() / traffic.burst_factor / np.maximum(servers.sum(axis=1), 1)
    usual = np.where(sized.meets_targets, 1.0, np.nan)
    responses = _responses(
        known,
        shapes,
        sized,
        arrivals_per_s=np.stack([busiest, mean, busiest], axis=1),
        speed_factor=np.stack([usual, usual, usual * sized.speed_low], axis=1),
    )
    return FleetResponses(servers.max(axis=1), responses)


def response_curve(known: Known, shapes: Shapes, sized: Sized, shape: int) -> Response:
    """How one server answers from no load to the most it may get: arrays [3, loads].

    The rows are cards as slow as the slow end of the band allows, as predicted, and as fast as the fast end allows.
    """
    most = sized.requests_per_s[shape] * known.scenario.traffic.target_utilisation_fraction
    factors = np.array([sized.speed_low[shape], 1.0, sized.speed_high[shape]])
    arrivals, factor = np.meshgrid(np.linspace(0, most, CURVE_POINTS), factors)
    one = (shapes.take([shape]), sized.take([shape]))
    found = _responses(known, *one, arrivals_per_s=arrivals.reshape(1, -1), speed_factor=factor.reshape(1, -1))
    return Response(*(getattr(found, field.name).reshape(arrivals.shape) for field in fields(Response)))


def _responses(known: Known, shapes: Shapes, sized: Sized, *, arrivals_per_s, speed_factor) -> Response:
    """How one server of each shape answers at several loads, [shapes, loads], with cards faster by a factor.

    How many requests a request finds running follows from Little's law (`requests_found`). Its wait for a place is the
    one at full service times, as in sizing: no shorter than the real one, and without end where a server gets more than
    it can do.
    """
    replicas, slots = sized.replicas_per_server[:, None], sized.batch_size[:, None]
    answer = partial(shape_speed(known, shapes, axes=2), gpu_count=sized.tensor_parallel[:, None])
    tried = np.geomspace(1, sized.batch_size + 1, NUMBERS_TRIED, axis=1)
    times_s = tried / answer(batch_size=tried).requests_per_s
    arrivals = arrivals_per_s / replicas / speed_factor  # for a slower card the same load is more
    batch = np.minimum(requests_found(tried - 1, times_s, arrivals) + 1, slots)
    full_s = slots / answer(batch_size=slots).requests_per_s
    utilisation = arrivals * full_s / slots
    now, wait_s = answer(batch_size=batch), queue_wait_s(slots * replicas, full_s, utilisation)
    return Response(
        requests_per_s=arrivals_per_s,
        utilisation_fraction=utilisation,
        batch_size=batch,
        ttft_ms=(now.ttft_ms + wait_s * MS_PER_S) / speed_factor,
        tpot_ms=now.tpot_ms / speed_factor * (1 if known.output_tokens else np.nan),
    )


def requests_found(numbers, times_s, arrivals_per_s):
    """Mean number N of requests that a new one finds running: N = arrivals × time(N + 1), as Little's law asks.

    `times_s` is how long a request takes that finds so many `numbers` of others, both [servers, tried] and rising from
    0; in between it is a straight line, as it is for a dense model. The answer has the shape of the arrivals,
    [servers, loads], and is at most the last of `numbers`. Exact for a server that shares its time among all running
    requests. Source: Kelly, Reversibility and Stochastic Networks, 1979, section 3.3 (symmetric queues).
    """
    numbers, times_s = np.broadcast_arrays(numbers[:, None], times_s[:, None])
    excess = numbers - arrivals_per_s[..., None] * times_s
    keeps_up = (excess > 0).any(axis=-1)
    after = np.where(keeps_up, (excess > 0).argmax(axis=-1), 1)[..., None]

    def at(values, places):
        return np.take_along_axis(np.broadcast_to(values, excess.shape), places, axis=-1)[..., 0]

    low, high = at(numbers, after - 1), at(numbers, after)
    below, above = at(excess, after - 1), at(excess, after)
    return np.where(keeps_up, low - below * (high - low) / (above - below), numbers[..., -1])
