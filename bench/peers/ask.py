"""Asks one peer in the environment that it is installed in: `python -m bench.peers.ask NAME FOLDER`.

It reads FOLDER/question.json and writes FOLDER/answer.json: the version, and per question the time and what came out.
Data are in memory and caches are filled before the clock starts. Only the standard library is there for all peers.
"""

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

CLOCK_S, FEWEST_RUNS, MOST_RUNS = 2.0, 3, 200


def least_ms(work: Callable[[], object]) -> float:
    """Processor time, all threads, of the quickest of several runs after one that fills the caches.

    Ours and theirs by the same clock; what else the machine does counts for neither.
    """
    work()
    times, start = [], time.perf_counter()
    while len(times) < FEWEST_RUNS or (len(times) < MOST_RUNS and time.perf_counter() - start < CLOCK_S):
        before = time.process_time()
        work()
        times.append(time.process_time() - before)
    return 1000 * min(times)


def gpuhunt(question: dict) -> dict:
    """The offers of some GPUs on demand, cheapest first."""
    from gpuhunt import Catalog

    catalog = Catalog(auto_reload=False)
    catalog.load(version=question["version"])

    def query():
        return catalog.query(gpu_name=question["gpus"], spot=False)

    return {"cheapest_first": {"ms": least_ms(query), "rows": [_row(item.instance_name) for item in query()]}}


def skypilot(question: dict) -> dict:
    """The offers of some GPUs by GPU, and the instances with so many of one GPU, cheapest first."""
    from sky import catalog

    def listed():
        return catalog.list_accelerators(name_filter=question["pattern"], all_regions=True, clouds=question["cloud"])

    def ranked():
        return catalog.get_instance_type_for_accelerator(*question["server"], clouds=question["cloud"])[0]

    by_gpu = {gpu: [_row(info.instance_type) for info in infos] for gpu, infos in listed().items()}
    return {
        "by_gpu": {"ms": least_ms(listed), "rows": by_gpu},
        "cheapest_first": {"ms": least_ms(ranked), "rows": [_row(name) for name in ranked()]},
    }


def _row(instance: str) -> int:
    """The row of an offer, which its name ends with (bench/peers/inputs.py)."""
    return int(instance.rpartition("#")[2])


def scikit_criteria(question: dict) -> dict:
    """The first option for each set of weights; the table is scaled before the clock starts."""
    from skcriteria import mkdm
    from skcriteria.agg.simple import WeightedSumModel
    from skcriteria.agg.topsis import TOPSIS
    from skcriteria.preprocessing.invert_objectives import InvertMinimize
    from skcriteria.preprocessing.scalers import MaxAbsScaler, VectorScaler

    objectives = [{"min": min, "max": max}[objective] for objective in question["objectives"]]
    table = mkdm(question["matrix"], objectives)
    scaled = MaxAbsScaler(target="matrix").transform(InvertMinimize().transform(table))
    methods = {
        "ratio": (scaled, WeightedSumModel()),
        "topsis": (VectorScaler(target="matrix").transform(table), TOPSIS()),
    }
    return {
        name: _firsts(lambda one, t=table, m=method: m.evaluate(t.replace(weights=one)).rank_.argmin(), question)
        for name, (table, method) in methods.items()
    }


def pymcdm(question: dict) -> dict:
    """The first option for each set of weights, without its checks of every call."""
    import numpy as np
    from pymcdm.methods import TOPSIS, WSM
    from pymcdm.normalizations import linear_normalization, vector_normalization

    matrix = np.array(question["matrix"])
    types = np.array([{"min": -1, "max": 1}[objective] for objective in question["objectives"]])
    methods = {"ratio": WSM(linear_normalization), "topsis": TOPSIS(vector_normalization)}
    return {
        name: _firsts(lambda one, m=method: m(matrix, np.array(one), types, validation=False).argmax(), question)
        for name, method in methods.items()
    }


def _firsts(first: Callable[[list], int], question: dict) -> dict:
    def all_sets():
        return [int(first(weights)) for weights in question["weights"]]

    return {"ms": least_ms(all_sets), "first": all_sets()}


def llm_analysis(question: dict) -> dict:
    """Memory and times of each row of a table; null where it refuses a row.

    The set-ups are made before the clock starts; only the memory is told, for it can be compared to the byte.
    """
    import logging

    from fit.compare import LLM_ANALYSIS_CARDS, llm_analysis_of, read_loads

    logging.disable(logging.CRITICAL)  # it warns at every call
    loads = read_loads(Path.home() / question["loads"])
    set_ups = [
        llm_analysis_of(load.model, load.weight_precision, LLM_ANALYSIS_CARDS[load.gpu], load.gpu_count)
        for load in loads
    ]

    def predict() -> list[dict | None]:
        found = []
        for load, set_up in zip(loads, set_ups):
            try:
                one = set_up.inference(
                    batch_size_per_gpu=load.batch_size,
                    seq_len=load.context_tokens,
                    num_tokens_to_generate=load.output_tokens,
                )
            except AssertionError:  # more than the card holds
                one = None
            found.append(one)
        return found

    wanted = ("weight_memory_per_gpu", "kv_cache_memory_per_gpu")
    rows = [one and {name: one[name] for name in wanted} for one in predict()]
    return {"memory_and_speed": {"ms": least_ms(predict), "rows": rows}}


PEERS = {
    "gpuhunt": gpuhunt,
    "skypilot": skypilot,
    "scikit-criteria": scikit_criteria,
    "pymcdm": pymcdm,
    "llm-analysis": llm_analysis,
}


def main(peer: str, folder: Path) -> None:
    question = json.loads((folder / "question.json").read_text(encoding="utf-8"))
    answer = {"version": version(peer)} | PEERS[peer](question)
    (folder / "answer.json").write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
