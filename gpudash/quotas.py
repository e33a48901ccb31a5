"""Quotas: how many GPUs a provider lets the user have, of one type or in one region, or of all together."""

from collections.abc import Iterator

import numpy as np

from gpudash.assumptions import Known
from gpudash.scenario import Quota


def covered(known: Known, quota: Quota, rows: np.ndarray) -> np.ndarray:
    """Which of these offers a quota is about: its provider, and its region and GPU where it names them."""
    offers = known.catalogue.offers
    is_about = offers.provider[rows] == quota.provider
    if quota.region is not None:
        is_about = is_about & (offers.region[rows] == quota.region)
    if quota.gpu is not None:
        is_about = is_about & (offers.gpu_row[rows] == known.catalogue.hardware.index(quota.gpu))
    return is_about


def exceeded(known: Known, rows: np.ndarray, gpus: np.ndarray) -> Iterator[tuple[Quota, np.ndarray]]:
    """Each quota with the offers that need more GPUs at their peak than it allows."""
    for quota in known.scenario.requirements.quotas:
        yield quota, covered(known, quota, rows) & (gpus > quota.gpus)


def are_kept_together(known: Known, rows: np.ndarray, gpus: np.ndarray) -> bool:
    """Whether the GPUs of these offers, used at the same time, stay within every quota."""
    return all(gpus[covered(known, quota, rows)].sum() <= quota.gpus for quota in known.scenario.requirements.quotas)


def place_of(quota: Quota) -> str:
    """What a quota is about, in the words of an offer: provider / region / GPU."""
    return " / ".join(filter(None, (quota.provider, quota.region, quota.gpu)))
