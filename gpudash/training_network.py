"""What a slower network between the servers costs a training run: speed lost, GPU-hours and money, as a range.

The published runs behind gpudash.training_speed were made on cluster networks, and their speed per GPU hardly falls
with the number of GPUs (a factor of 0.998 per doubling). What another network would lose is therefore not fitted but
worked out, between two ends that hold the few published measurements: nothing hidden and a poor network, or all hidden
behind the backward pass and a sound one. Parameters and their sources: data/networks.csv.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gpudash.errors import GpudashError
from gpudash.result import Message, Result, Share
from gpudash.tables import DATA, read_rows
from gpudash.training_speed import unstated_step_sequences_per_gpu
from gpudash.units import PARAMS_PER_B, SECONDS_PER_HOUR

# Exact: the backward pass does 4 of the 6 FLOPs per parameter and token, and gradients are ready from its start on.
HIDDEN_AT_BEST_FRACTION = 2 / 3
GRADIENT_BYTES = 2  # mixed precision exchanges 16-bit gradients


@dataclass(frozen=True)
class Network:
    """A network between servers; `gb_per_s_per_server` is its nominal speed in one direction."""

    name: str
    kind: str  # infiniband, roce, ethernet (TCP)
    gb_per_s_per_server: float
    reached_low_fraction: float
    reached_high_fraction: float
    source: str
    as_of: str


@dataclass(frozen=True)
class NetworkLoss:
    """One network under a run: the time of an exchange, the share of the speed that is left, and what the rest costs.

    Every pair runs from the worse to the better end.
    """

    network: Network
    exchange_s: tuple[float, float]
    speed_fraction: tuple[float, float]
    gpu_hours_lost: tuple[float, float]
    usd_lost: tuple[float, float]
    assumption: Message


def networks() -> tuple[Network, ...]:
    """The networks of data/networks.csv, in its order."""
    return tuple(_networks().values())


def network(name: str) -> Network:
    """A network by its name; raises `scaling.unknown_network` with the known ones."""
    if name not in _networks():
        raise GpudashError("training_network.unknown_network", network=name, known=", ".join(_networks()))
    return _networks()[name]


def gradient_gb(params_b, bytes_per_gradient=GRADIENT_BYTES):
    """Gradients of all trained parameters: 1e9 P × bytes / 1e9."""
    return params_b * bytes_per_gradient


def speed_fraction(network: Network, *, gradients_gb, step_s, servers):
    """Share of the speed left by the exchange of gradients between servers, worse and better end; floats or arrays.

    Each server adds up its own gradients, then a ring of n servers moves 2 (n - 1) / n × gradients through each
    server's adapters at the speed reached: t. Worse: step / (step + t) at the low fraction; better: step / (step +
    max(t - 2/3 step, 0)) at the high one. Raises `scaling.servers` for fewer than one. Sources: data/networks.csv; the
    ends hold Horovod's published scaling (docs/benchmarks.md of horovod/horovod).
    """
    worse_s, better_s = exchange_s(network, gradients_gb, servers)
    exposed_s = np.maximum(better_s - HIDDEN_AT_BEST_FRACTION * step_s, 0)
    return step_s / (step_s + worse_s), step_s / (step_s + exposed_s)


def exchange_s(network: Network, gradients_gb, servers):
    """Time of one exchange of gradients at the low and at the high end of the speed reached."""
    if np.any(np.less(servers, 1)):
        raise GpudashError("training_network.servers", servers=float(np.min(servers)))
    moved_gb = 2 * (servers - 1) / servers * gradients_gb
    return tuple(
        moved_gb / (network.gb_per_s_per_server * reached)
        for reached in (network.reached_low_fraction, network.reached_high_fraction)
    )


def network_losses(
    *, params_b: float, step_s: float, servers: int, gpu_hours: float, usd_per_gpu_hour: float
) -> tuple[NetworkLoss, ...]:
    """Every network under a run that takes `gpu_hours` without waiting for it.

    GPU-hours lost = hours × (1 / speed fraction - 1), money = those × price.
    """
    losses = []
    for one in networks():
        left = speed_fraction(one, gradients_gb=gradient_gb(params_b), step_s=step_s, servers=servers)
        lost = tuple(float(gpu_hours * (1 / fraction - 1)) for fraction in left)
        losses.append(
            NetworkLoss(
                network=one,
                exchange_s=tuple(map(float, exchange_s(one, gradient_gb(params_b), servers))),
                speed_fraction=tuple(map(float, left)),
                gpu_hours_lost=lost,
                usd_lost=tuple(hours * usd_per_gpu_hour for hours in lost),
                assumption=Message.of(
                    "training_network.hidden",
                    hidden=Share(HIDDEN_AT_BEST_FRACTION),
                    low=Share(one.reached_low_fraction),
                    high=Share(one.reached_high_fraction),
                ),
            )
        )
    return tuple(losses)


def losses_of(result: Result) -> tuple[NetworkLoss, ...]:
    """What each network would cost the recommended runs.

    Empty for runs on one server, for adapters, which exchange next to nothing, and where nothing is trained. A step is
    the time in which every GPU works on as many sequences as in the estimate of the run's length.
    """
    choice, work = result.leading, result.scenario.workload
    if choice is None or not choice.run_hours or choice.servers < 2 or work.training_method != "full":
        return ()
    step_tokens = unstated_step_sequences_per_gpu() * work.sequence_tokens * choice.gpus
    run_s = choice.run_hours * SECONDS_PER_HOUR
    gpu_hours, usd_per_gpu_hour = runs_of(result)
    return network_losses(
        params_b=result.sizing.model.params_b,
        step_s=run_s * step_tokens / (work.training_tokens_b * PARAMS_PER_B),
        servers=choice.servers,
        gpu_hours=gpu_hours,
        usd_per_gpu_hour=usd_per_gpu_hour,
    )


def runs_of(result: Result) -> tuple[float, float]:
    """GPU-hours of the recommended runs, and what the servers alone cost in one of them.

    A run that takes longer stores no more data and employs no more people.
    """
    choice = result.leading
    gpu_hours = choice.run_hours * choice.gpus * result.scenario.traffic.runs
    return gpu_hours, sum(result.purchase_mix.paid_usd.values()) / gpu_hours


@lru_cache(maxsize=1)
def _networks() -> dict[str, Network]:
    path = DATA / "networks.csv"
    return {
        row["network"]: Network(
            name=row["network"],
            kind=row["kind"],
            gb_per_s_per_server=float(row["gb_per_s_per_server"]),
            reached_low_fraction=float(row["reached_low_fraction"]),
            reached_high_fraction=float(row["reached_high_fraction"]),
            source=row["source"],
            as_of=row["as_of"],
        )
        for row in read_rows(path)
    }
