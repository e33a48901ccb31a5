"""Which card runs which software: frameworks, engines and weight formats, every row sourced.

data/ecosystem.csv and data/precision_support.csv say what runs on a vendor's cards at all.
data/ecosystem_versions.csv lists the builds that are published. A build runs on a card if it holds kernels of the same
major compute capability and not a higher minor one (NVIDIA, CUDA C++ Programming Guide, binary compatibility); for
other vendors it names the architectures. A build without a list of its own runs wherever its CUDA toolkit does.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gpudash.assumptions import Known
from gpudash.errors import GpudashError
from gpudash.result import Message, Software
from gpudash.tables import DATA, read_rows

CUDA_VENDOR = "NVIDIA"
TOOLKIT = "cuda"
FRAMEWORKS = ("pytorch", "tensorflow", "jax", "onnx")


@dataclass(frozen=True)
class Build:
    """One published build; `toolkit` is its CUDA or ROCm version, `runs_on` compute capabilities or architectures."""

    vendor: str
    item: str
    version: str
    toolkit: str
    runs_on: tuple[str, ...]
    source: str
    as_of: str
    notes: str


@dataclass(frozen=True)
class Compatibility:
    """Whether a card runs what is asked for: with which toolkits, or why not; `source` says who says so."""

    gpu: str
    runs: bool
    toolkits: tuple[str, ...]
    because: Message | None
    source: str
    as_of: str


@lru_cache(maxsize=1)
def builds() -> tuple[Build, ...]:
    """All builds of data/ecosystem_versions.csv."""
    return tuple(
        Build(**(row | {"runs_on": tuple(part for part in row["runs_on"].split(";") if part)}))
        for row in read_rows(DATA / "ecosystem_versions.csv")
    )


def versions(framework: str) -> tuple[str, ...]:
    """The versions of a framework for which builds are listed, oldest first."""
    return tuple(dict.fromkeys(build.version for build in builds() if build.item == framework))


def compatibility(
    hardware, gpu_rows, framework: str, version: str | None, cuda: str | None
) -> tuple[Compatibility, ...]:
    """For each GPU (rows of the hardware): whether a build of the framework's version runs on it.

    `version` None: any; then only the CUDA version is asked about, by the toolkit's own list. Versions are compared by
    their leading parts, so 2.9.1 is 2.9 and CUDA 12 is any 12.x. Raises `ecosystem.*` where no such build is listed.
    """
    asked = _asked(framework, version, cuda)
    what, needs_cuda = _what(framework, version, cuda), cuda is not None or version is None
    answers = {row: _answer(hardware, row, asked, what, needs_cuda) for row in set(map(int, gpu_rows))}
    return tuple(answers[int(row)] for row in gpu_rows)


def _asked(framework: str, version: str | None, cuda: str | None) -> tuple[Build, ...]:
    """The listed builds that match, of all vendors."""
    if version is None:
        return (_toolkit(cuda),)
    if framework not in FRAMEWORKS:
        raise GpudashError("ecosystem.version_without_framework", version=version)
    of_version = [build for build in builds() if build.item == framework and _same(build.version, version)]
    if not of_version:
        known = ", ".join(versions(framework))
        raise GpudashError("ecosystem.unknown_version", framework=Software(framework), version=version, known=known)
    if cuda is None:
        return tuple(of_version)
    matching = tuple(build for build in of_version if build.vendor == CUDA_VENDOR and _same(build.toolkit, cuda))
    if not matching:
        known = ", ".join(build.toolkit for build in of_version if build.vendor == CUDA_VENDOR)
        raise GpudashError("ecosystem.no_build", framework=Software(framework), version=version, cuda=cuda, known=known)
    return matching


def _same(listed: str, asked: str) -> bool:
    """Whether two versions agree in all parts that both of them name."""
    return all(one == other for one, other in zip(listed.split("."), asked.split(".")))


def _toolkit(cuda: str) -> Build:
    """The newest listed toolkit of the same major version that is not newer than the one asked for."""
    listed = [build for build in builds() if build.item == TOOLKIT]
    try:
        wanted = _number(cuda)
    except ValueError:
        wanted = ()
    older = [build for build in listed if _number(build.toolkit)[:1] == wanted[:1] and _number(build.toolkit) <= wanted]
    if not older:
        known = ", ".join(build.toolkit for build in listed)
        raise GpudashError("ecosystem.unknown_cuda", cuda=cuda, known=known)
    return older[-1]


def _number(version: str) -> tuple[int, ...]:
    parts = tuple(int(part) for part in version.split("."))
    return parts if len(parts) > 1 else (*parts, 99)  # a bare major version means its newest


def _answer(hardware, row: int, asked: tuple[Build, ...], what: Message, needs_cuda: bool) -> Compatibility:
    gpu, vendor = hardware.names[row], str(hardware.vendor[row])
    capability, architecture = hardware.compute_capability[row], str(hardware.architecture[row])
    mine = [build for build in asked if build.vendor == vendor]
    working = [build for build in mine if _runs(build, capability, architecture)]
    if working:
        toolkits = tuple(build.toolkit for build in working)
        return Compatibility(gpu, True, toolkits, None, working[0].source, working[0].as_of)
    if vendor != CUDA_VENDOR and needs_cuda:
        return Compatibility(gpu, False, (), Message.of("ecosystem.no_cuda", vendor=vendor), "", "")
    if not mine:
        return Compatibility(gpu, False, (), Message.of("ecosystem.not_listed", what=what, gpu=gpu), "", "")
    value = str(float(capability)) if np.isfinite(capability) else architecture
    covered = tuple(dict.fromkeys(part for build in mine for part in _covers(build)))
    because = Message.of(
        "ecosystem.no_kernels", what=what, gpu=gpu, value=value, covered=covered, source=mine[0].source
    )
    return Compatibility(gpu, False, (), because, mine[0].source, mine[0].as_of)


def _what(framework: str, version: str | None, cuda: str | None) -> Message:
    """What was asked for, as a part of a sentence."""
    if version is None:
        return Message.of("ecosystem.what_cuda", cuda=cuda)
    if cuda is None:
        return Message.of("ecosystem.what_framework", framework=Software(framework), version=version)
    return Message.of("ecosystem.what_both", framework=Software(framework), version=version, cuda=cuda)


def _runs(build: Build, capability: float, architecture: str) -> bool:
    if build.vendor != CUDA_VENDOR:
        return architecture in build.runs_on
    if not np.isfinite(capability):
        return False
    major, minor = _parts(f"{capability:.1f}")
    return any(_parts(one)[0] == major and _parts(one)[1] <= minor for one in _covers(build))


def _covers(build: Build) -> tuple[str, ...]:
    return build.runs_on or _toolkit(build.toolkit).runs_on


def _parts(capability: str) -> tuple[int, int]:
    major, _, minor = capability.partition(".")
    return int(major), int(minor)


# ---- what runs on a vendor's cards at all -----------------------------------------------------------------------


@lru_cache(maxsize=1)
def vendor_support() -> dict[tuple[str, str], tuple[bool, float]]:
    """(vendor, framework or engine) -> (supported, least compute capability or 0); data/ecosystem.csv."""
    return {
        (row["vendor"], row["item"]): (row["supported"] == "yes", float(row["minimum_compute_capability"] or 0))
        for row in read_rows(DATA / "ecosystem.csv")
    }


@dataclass(frozen=True)
class PrecisionSupport:
    """Whether a vendor's cards run a weight format: from which compute capability on, and needing which peak."""

    supported: bool
    minimum_compute_capability: float
    hardware_column: str


@lru_cache(maxsize=1)
def precision_support() -> dict[tuple[str, str], PrecisionSupport]:
    """(precision, vendor) -> support, of data/precision_support.csv; what is not listed runs wherever 16 bit does."""
    return {
        (row["precision"], row["vendor"]): PrecisionSupport(
            row["supported"] == "yes", float(row["minimum_compute_capability"] or 0), row["hardware_column"]
        )
        for row in read_rows(DATA / "precision_support.csv")
    }


@dataclass(frozen=True)
class EcosystemFit:
    """Facts about the software on a GPU and at a provider, per offer: 1, 0, or the share of the six that hold."""

    cuda: np.ndarray
    onnx: np.ndarray
    kubernetes: np.ndarray
    monitoring: np.ndarray
    fit: np.ndarray


def ecosystem_fit(known: Known, offer_rows) -> EcosystemFit:
    """Share of four frameworks, managed Kubernetes and GPU monitoring that are known to work (unknown counts as no)."""
    catalogue = known.catalogue
    offers, hardware = catalogue.offers, catalogue.hardware
    vendor = hardware.vendor[offers.gpu_row[offer_rows]]
    names = list(dict.fromkeys(vendor))
    row = np.array([names.index(name) for name in vendor], dtype=int)
    runs = np.array(
        [[vendor_support().get((name, item), (False, 0))[0] for item in FRAMEWORKS] for name in names], float
    )
    runs = runs.reshape(-1, len(FRAMEWORKS))
    facts = [catalogue.providers.get(name) for name in offers.provider_names]
    kubernetes = np.array([bool(fact and fact.kubernetes_gpu) for fact in facts], float)[
        offers.provider_row[offer_rows]
    ]
    monitoring = np.array([bool(fact and fact.gpu_monitoring_api) for fact in facts], float)
    monitoring = monitoring[offers.provider_row[offer_rows]]
    return EcosystemFit(
        cuda=(vendor == "NVIDIA").astype(float),
        onnx=runs[row, FRAMEWORKS.index("onnx")],
        kubernetes=kubernetes,
        monitoring=monitoring,
        fit=(runs[row].sum(axis=1) + kubernetes + monitoring) / (len(FRAMEWORKS) + 2),
    )
