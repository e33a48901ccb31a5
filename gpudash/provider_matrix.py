"""What providers can do, as far as public sources say, beside the contradictory matrix that article 004 prints."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gpudash.catalogue import Catalogue
from gpudash.hardware import Hardware
from gpudash.result import Message
from gpudash.tables import DATA, read_rows


@dataclass(frozen=True)
class Capability:
    """One provider: its promises (None or blank: no public source), and what it offers in this snapshot."""

    provider: str
    kind: str
    offers: int
    gpus: tuple[str, ...]
    countries: int
    sla_percent: float | None
    support_response_minutes: float | None
    support_24x7: bool
    compliance: tuple[str, ...]
    kubernetes_gpu: bool
    hybrid_cloud: str
    gpu_monitoring_api: bool
    pretrained_models: int | None
    green_certification: str
    source: str
    as_of: str


@dataclass(frozen=True)
class ArticleColumn:
    """One column of the article's matrix: its figures, those of the card that it names, and what does not fit."""

    provider: str
    instance_family: str
    gpu: str  # blank: no such part is known
    fp16_tflops: float
    bandwidth_gb_per_s: float
    card_fp16_tflops: float | None
    card_bandwidth_gb_per_s: float | None
    compliance: str
    identified_by: str
    contradictions: tuple[Message, ...]

    @property
    def column(self) -> str:
        """The heading of the column."""
        return _column(self.provider, self.instance_family)


def _column(provider: str, instance_family: str) -> str:
    return f"{provider} ({instance_family})"


def capabilities(catalogue: Catalogue) -> tuple[Capability, ...]:
    """Every provider that publishes anything, those with most offers first."""
    offers = catalogue.offers
    rows = {name: np.flatnonzero(offers.provider_row == row) for row, name in enumerate(offers.provider_names)}
    found = [
        _capability(record, rows.get(name, np.empty(0, dtype=int)), catalogue)
        for name, record in catalogue.providers.items()
    ]
    return tuple(sorted(found, key=lambda one: (-one.offers, one.provider)))


def _capability(record, rows: np.ndarray, catalogue: Catalogue) -> Capability:
    offers, hardware = catalogue.offers, catalogue.hardware
    models = _known(record.pretrained_models)
    return Capability(
        provider=record.provider,
        kind=record.kind,
        offers=len(rows),
        gpus=tuple(hardware.names[row] for row in np.unique(offers.gpu_row[rows])),
        countries=len(set(offers.country[rows]) - {""}),
        sla_percent=_known(record.sla_percent),
        support_response_minutes=_known(record.support_response_minutes),
        support_24x7=bool(record.support_24x7),
        compliance=tuple(name for name in record.compliance.split(";") if name),
        kubernetes_gpu=bool(record.kubernetes_gpu),
        hybrid_cloud=record.hybrid_cloud,
        gpu_monitoring_api=bool(record.gpu_monitoring_api),
        pretrained_models=None if models is None else int(models),
        green_certification=record.green_certification,
        source=record.source,
        as_of=record.as_of,
    )


def article_matrix(hardware: Hardware) -> tuple[ArticleColumn, ...]:
    """The matrix of article 004, section 5.1, each column beside the data sheet of the card it names."""
    rows = _article_rows()
    columns_of: dict[str, list[str]] = {}
    for row in rows:
        columns_of.setdefault(row["gpu"], []).append(_column(row["provider"], row["instance_family"]))
    return tuple(_article_column(row, hardware, columns_of[row["gpu"]]) for row in rows)


@lru_cache(maxsize=1)
def _article_rows() -> tuple[dict[str, str], ...]:
    return tuple(read_rows(DATA / "article_matrix.csv"))


def _article_column(row: dict[str, str], hardware: Hardware, same_card: list[str]) -> ArticleColumn:
    claimed = {name: float(row[name]) for name in ("fp16_tflops", "bandwidth_gb_per_s")}
    card = hardware.index(row["gpu"]) if row["gpu"] else None
    sheet = {name: None if card is None else _known(getattr(hardware, name)[card]) for name in claimed}
    said = []
    if card is None:
        said.append(Message.of("provider_matrix.unknown_part", part=row["instance_family"]))
    for name, value in sheet.items():
        if value is not None and value != claimed[name]:
            said.append(Message.of(f"provider_matrix.{name}", claimed=claimed[name], sheet=value, gpu=row["gpu"]))
    others = tuple(column for column in same_card if column != _column(row["provider"], row["instance_family"]))
    if card is not None and others:
        said.append(Message.of("provider_matrix.same_card", gpu=row["gpu"], others=others))
    return ArticleColumn(
        provider=row["provider"],
        instance_family=row["instance_family"],
        gpu=row["gpu"],
        **claimed,
        card_fp16_tflops=sheet["fp16_tflops"],
        card_bandwidth_gb_per_s=sheet["bandwidth_gb_per_s"],
        compliance=row["compliance"],
        identified_by=row["identified_by"],
        contradictions=tuple(said),
    )


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
