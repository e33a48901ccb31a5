"""MIG: the slices that a card can be cut into, what each holds and reaches, and what a job on one costs.

A slice has its own memory and memory paths and its own multiprocessors (data/mig_profiles.csv), so its speed is that of
a smaller card: of MLPerf's BERT and RNN-T on A30 and A100, one slice alone reaches 81 to 97 % of its share. With all
slices of a card busy the published BERT results are lower, about 70 % of the whole card together. Cards without MIG
(A10, T4, L4, L40S ...) are refused with the sentence.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from gpudash.engines import engine_parameters
from gpudash.errors import GpudashError
from gpudash.hardware import Hardware
from gpudash.memory import inference_memory, maximum_batch
from gpudash.published import slice_cost_fraction
from gpudash.result import Result
from gpudash.speed import Cards, Transformer, inference_speed
from gpudash.tables import DATA, read_rows, sourced_values
from gpudash.units import BYTES_PER_GB, BYTES_PER_GIB

PROFILES = DATA / "mig_profiles.csv"


@dataclass(frozen=True)
class Slice:
    """One way to cut a card: `most_per_card` equal slices, each with these shares of it."""

    gpu: str
    profile: str  # such as 1g.10gb
    most_per_card: int
    memory_fraction: float  # of the memory and of its bandwidth
    compute_fraction: float  # of the multiprocessors
    usable_gb: float  # what the driver lists, else the share of the card's memory
    source: str
    as_of: str

    def cards(self, cards: Cards) -> Cards:
        """The card as it is inside the slice: its shares of bandwidth and arithmetic, and no link to others.

        Takes floats or arrays. Source of the shares: NVIDIA MIG user guide.
        """
        return replace(
            cards,
            bandwidth_gb_per_s=cards.bandwidth_gb_per_s * self.memory_fraction,
            peak_tflops=cards.peak_tflops * self.compute_fraction,
            peak_16bit_tflops=cards.peak_16bit_tflops * self.compute_fraction,
            linked_gpus=1,
        )


@dataclass(frozen=True)
class Packing:
    """What a job costs on slices against the whole card, which does one such job at a time."""

    slice: Slice
    jobs_per_card: int
    relative_speed: float  # of one job, against the whole card
    cost_fraction: float  # of one job's cost on the whole card
    usd_per_job: float


def slices_of(gpu: str, hardware: Hardware) -> tuple[Slice, ...]:
    """The slices of a card, smallest first.

    Raises `slices.no_mig` for a card that cannot be cut, `slices.no_profiles` for one whose profiles nobody published,
    and `catalogue.unknown_gpu`.
    """
    row = hardware.index(gpu)
    name = hardware.names[row]
    if not hardware.mig_max_instances[row] > 0:
        raise GpudashError("slices.no_mig", gpu=name)
    if name not in _profiles():
        raise GpudashError("slices.no_profiles", gpu=name)
    return tuple(_slice(name, float(hardware.usable_gb[row]), cells) for cells in _profiles()[name])


def smallest_slice(gpu: str, hardware: Hardware, needed_gb: float) -> Slice:
    """The slice that holds a job and leaves most jobs on the card, of equals the one with most arithmetic.

    Raises as `slices_of`, and `slices.too_large` where only the whole card or none holds the job.
    """
    fitting = [slice_ for slice_ in slices_of(gpu, hardware) if slice_.usable_gb >= needed_gb]
    if not fitting or max(slice_.most_per_card for slice_ in fitting) == 1:
        largest = max(slice_.usable_gb for slice_ in slices_of(gpu, hardware) if slice_.most_per_card > 1)
        raise GpudashError("slices.too_large", gpu=gpu, needed=float(needed_gb), largest=largest)
    return max(fitting, key=lambda slice_: (slice_.most_per_card, slice_.compute_fraction))


def packing(
    slice_: Slice, *, occupancy_fraction: float, relative_speed: float, hours_on_card: float, usd_per_hour: float
) -> Packing:
    """The cost of one job on a slice: price × hours on the whole card / (slices × occupancy × relative speed).

    `relative_speed` is the job's speed in the slice against the whole card: a job that keeps a whole card busy gets the
    slice's share (`compute_fraction` or `memory_fraction`), one that does not gets more, at most 1. Raises
    `slices.fraction` for a fraction outside 0 to 1. Source: article 000, plan 1 (62 % less at 82 % of the speed comes
    out with four slices, 80 % of them in use).
    """
    for name, value in (("occupancy_fraction", occupancy_fraction), ("relative_speed", relative_speed)):
        if not 0 < value <= 1:
            raise GpudashError("slices.fraction", name=name, value=float(value))
    cost = slice_cost_fraction(slice_.most_per_card, occupancy_fraction, relative_speed)
    return Packing(slice_, slice_.most_per_card, relative_speed, cost, cost * hours_on_card * usd_per_hour)


@dataclass(frozen=True)
class ServingSlice:
    """A language model on the smallest slice of a card that holds it."""

    slice: Slice
    needed_gb: float  # with one request
    batch_size: int
    output_tokens_per_s: float


def serving_slices(result: Result, hardware: Hardware) -> tuple[ServingSlice, ...]:
    """The cards that MIG lets share: the model of a result on the smallest slice that holds it, most per card first.

    Speed is that of a smaller card (`Slice.cards`), with as many requests as fit. Empty for training, for models that
    write no tokens, and where no slice holds the model.
    """
    work, model = result.scenario.workload, result.sizing.model
    if work.kind != "inference" or model.family != "language" or not work.output_tokens:
        return ()
    tokens = work.context_tokens + work.output_tokens
    stored = (model, result.sizing.weight_precision, work.kv_precision, tokens)
    needed = inference_memory(
        *stored, 1, kv_layout=work.kv_layout, buffer_gb=work.buffer_gb, state_gb=work.state_gb
    ).per_gpu_gb
    most = sourced_values("sizing_parameters")["maximum_batch_requests"]
    found = []
    for row in range(len(hardware)):
        try:
            chosen = smallest_slice(hardware.names[row], hardware, needed)
        except GpudashError:
            continue
        batch = int(np.clip(maximum_batch(*stored, usable_gb=chosen.usable_gb, kv_layout=work.kv_layout), 1, most))
        transformer = Transformer.of(model, result.sizing.weight_precision, work.kv_precision)
        speed = inference_speed(
            transformer,
            chosen.cards(Cards.of(hardware, row, transformer.compute_bits)),
            engine_parameters(work.engine, hardware.vendor[row], str(hardware.architecture[row]), hardware.names[row]),
            gpu_count=1,
            batch_size=batch,
            context_tokens=work.context_tokens,
            output_tokens=work.output_tokens,
        )
        found.append(ServingSlice(chosen, float(needed), batch, float(speed.output_tokens_per_s)))
    return tuple(sorted(found, key=lambda one: (-one.slice.most_per_card, -one.output_tokens_per_s)))


def _slice(gpu: str, card_gb: float, cells: dict[str, str]) -> Slice:
    share = float(cells["memory_fraction"])
    listed = cells["memory_gib"]
    return Slice(
        gpu=gpu,
        profile=cells["profile"],
        most_per_card=int(cells["most_per_card"]),
        memory_fraction=share,
        compute_fraction=float(cells["compute_fraction"]),
        usable_gb=float(listed) * BYTES_PER_GIB / BYTES_PER_GB if listed else share * card_gb,
        source=cells["source"],
        as_of=cells["as_of"],
    )


@lru_cache(maxsize=1)
def _profiles() -> dict[str, list[dict[str, str]]]:
    """Rows of data/mig_profiles.csv by GPU; one row stands for several cards with the same profiles."""
    found: dict[str, list[dict[str, str]]] = {}
    for cells in read_rows(PROFILES):
        for gpu in cells["gpus"].split("; "):
            found.setdefault(gpu, []).append(cells)
    return found
