"""Why the answer is not another GPU: the best that this GPU could do for the same work, or what its offers fell for."""

from functools import lru_cache

import numpy as np

from gpudash.catalogue import Catalogue
from gpudash.evaluate import evaluate
from gpudash.result import Message, Result, Share, Usd
from gpudash.scenario import Scenario

REASONS_SHOWN = 3


def why_not(result: Result, gpu: str) -> tuple[Message, ...]:
    """The same question asked of one GPU alone, set beside the recommendation (or the cheapest that works).

    Where nothing with this GPU can do the work: the reasons that most of its offers fell for, each with how many.
    """
    ours = result.leading
    if ours is not None and ours.gpu == gpu:
        return (Message.of("why_not.it_is", gpu=gpu),)
    alone = _alone(result.scenario, result.catalogue, gpu)
    best = alone.leading
    if best is None:
        return _fallen(alone, gpu)
    said = [Message.of("why_not.best", offer=best.id, servers=best.servers, gpus=best.gpus_per_server, gpu=gpu,
                       usd=Usd(best.monthly_usd))]  # fmt: skip
    if ours is not None:
        more = best.monthly_usd - ours.monthly_usd
        code = "why_not.dearer" if more > 0 else "why_not.cheaper"
        said.append(Message.of(code, usd=Usd(abs(more)), share=Share(abs(more) / ours.monthly_usd), ours=ours.id))
    if alone.recommendation is None and alone.gap_usd_per_month is not None:
        said.append(Message.of("why_not.over_budget", usd=Usd(alone.gap_usd_per_month)))
    if best.at_peak is not None:
        used = Share(best.at_peak.utilisation_fraction)
        said.append(Message.of("why_not.used", gpu=gpu, share=used))
    return tuple(said)


def _fallen(alone: Result, gpu: str) -> tuple[Message, ...]:
    offers, rejected = alone.catalogue.offers, alone.rejected
    rows = np.asarray(rejected.offer_rows, dtype=int)
    is_gpu = offers.gpu_row[rows] == alone.catalogue.hardware.index(gpu)
    if not is_gpu.any():
        return (Message.of("why_not.nobody", gpu=gpu),)
    first = Message.of("why_not.none", gpu=gpu, count=int(is_gpu.sum()))
    counts = rejected.counts(is_gpu)[:REASONS_SHOWN]
    return (first, *(Message.of("why_not.fell", count=count, because=rejected.reasons[row]) for row, count in counts))


@lru_cache(maxsize=16)
def _alone(scenario: Scenario, catalogue: Catalogue, gpu: str) -> Result:
    return evaluate(scenario.with_value("requirements.gpus_in", [gpu]), catalogue)
