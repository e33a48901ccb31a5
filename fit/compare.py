"""Public predictors side by side with this one, on the same measured rows.

Each predictor runs in an environment of its own, because their pins clash (requirements-compare.txt says how), and
writes what it predicts to fit/compared/: `python -m fit.compare llm-analysis`. The slow ones are asked about a random
choice of rows until so many are answered: `python -m fit.compare genz 200`. The report then reads those files, so that
making it needs none of them.

Every predictor gets the geometry of the model, the precision, the GPUs in tensor parallel, the requests that run
together and the lengths, uses its own entry for the card and its own defaults, and answers in two times: all prompts of
the batch, and one step of decoding. A row counts as not answered where it has no entry for the card or the precision,
or refuses. Nothing was fitted for them.
"""

import csv
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from itertools import count
from pathlib import Path

import numpy as np

from gpudash.catalogue import load_catalogue
from gpudash.engines import undated
from gpudash.memory_setups import read_set_ups
from gpudash.model import Model, load_model, load_precision, read_parameters
from gpudash.tables import DATA, numbers, read_columns, read_rows
from gpudash.units import BYTES_PER_GB, BYTES_PER_GIB, MS_PER_S, PARAMS_PER_B

MEASURED = DATA / "measured" / "inference.csv"
MEASURED_MEMORY = DATA / "measured" / "memory.csv"
COMPARED = Path(__file__).parent / "compared"
COMPARED_MEMORY = Path(__file__).parent / "compared_memory"
FEWEST_ROWS = 20  # a table of fewer says little
RANDOM_STATE = 20261130


@dataclass(frozen=True)
class Load:
    """One measured row that a predictor of tensor-parallel serving can be asked about."""

    line: int  # of data/measured/inference.csv
    phase: str
    model: Model
    gpu: str
    gpu_count: int
    engine: str
    weight_precision: str
    kv_bytes: float  # per value
    batch_size: int
    context_tokens: int
    output_tokens: int

    @property
    def weight_bits(self) -> float:
        return load_precision(self.weight_precision).bits_per_weight

    def figure(self, prompts_s: float, step_s: float) -> float:
        """What the row measures, from the time of all prompts and of one step."""
        if self.phase == "decode":
            return self.batch_size / step_s
        if self.phase == "prefill":
            return self.batch_size * self.context_tokens / prompts_s
        if self.phase == "prefill_latency":
            return prompts_s * MS_PER_S
        return self.batch_size * self.output_tokens / (prompts_s + self.output_tokens * step_s)


class NotAnswered(Exception):
    """The predictor has no entry for the card or the format of this row."""


def read_loads(path: Path = MEASURED) -> list[Load]:
    """Rows of such a table that state batch and lengths and spread a model by tensor parallel only."""
    loads = []
    for line, row in enumerate(read_rows(path), start=2):
        stated = row["batch_size"] and row["context_tokens"] and row["output_tokens"]
        if not stated or "excluded" in row["caveat"] or "fp32" in row["caveat"]:
            continue
        if row["parallelism"] and not row["parallelism"].startswith("TP"):
            continue
        loads.append(
            Load(
                line=line,
                phase=row["phase"],
                model=load_model(row["model"]),
                gpu=row["gpu"],
                gpu_count=int(row["gpu_count"]),
                engine=row["engine"],
                weight_precision=load_precision(row["weight_precision"]).name,
                kv_bytes=1.0 if row["kv_precision"] == "fp8" else 2.0,
                batch_size=int(float(row["batch_size"])),
                context_tokens=int(float(row["context_tokens"])),
                output_tokens=int(float(row["output_tokens"])),
            )
        )
    return loads


def _entry(entries: dict[str, str], name: str) -> str:
    if name not in entries:
        raise NotAnswered(name)
    return entries[name]


# ---- the predictors -----------------------------------------------------------------------------------------------

LLM_ANALYSIS_CARDS = {
    "A10G": "a10g-pcie-24gb",
    "A100-40GB SXM": "a100-sxm-40gb",
    "A100-80GB SXM": "a100-sxm-80gb",
    "A100-80GB PCIe": "a100-pcie-80gb",
    "RTX A6000": "a6000-48gb",
    "H100 SXM": "h100-sxm-80gb",
    "H100 PCIe": "h100-pcie-80gb",
    "MI250": "mi250-128gb",
}
# Its documentation: up to 0.7 of the FLOPs in inference; its own warning: benchmarks show 0.6 to 0.7 of the bandwidth.
LLM_ANALYSIS_FLOPS_EFFICIENCY, LLM_ANALYSIS_MEMORY_EFFICIENCY = 0.7, 0.65


def llm_analysis(load: Load) -> tuple[float, float]:
    analysis = llm_analysis_of(
        load.model, load.weight_precision, _entry(LLM_ANALYSIS_CARDS, load.gpu), tensor_parallel=load.gpu_count
    )
    found = analysis.inference(
        batch_size_per_gpu=load.batch_size,
        seq_len=load.context_tokens,
        num_tokens_to_generate=max(load.output_tokens, 1),
        kv_cache_dtype_bytes=load.kv_bytes,
    )
    return found["prefill_latency"], found["decode_latency"]


@lru_cache(maxsize=4096)
def llm_analysis_of(model: Model, weight_precision: str, card: str, tensor_parallel: int):
    """Its analysis of one model in one format on so many cards, to be asked about loads."""
    from llm_analysis.analysis import LLMAnalysis
    from llm_analysis.config import (
        ModelConfig,
        ParallelismConfig,
        get_dtype_config_by_name,
        get_gpu_config_by_name,
    )

    precision = load_precision(weight_precision)
    bits, computed = precision.bits_per_weight, precision.compute_bits
    stored = 16 if bits > 8.5 else 8 if bits >= 8 else 4
    if model.intermediate is None or model.vocabulary is None or (stored, computed) == (4, 8):
        raise NotAnswered(weight_precision)
    width = model.expert_intermediate if model.experts else model.intermediate
    config = ModelConfig(
        name=model.name,
        num_layers=model.layers,
        n_head=model.heads,
        hidden_dim=model.hidden,
        vocab_size=model.vocabulary,
        num_key_value_heads=model.kv_heads,
        # It counts two matrices; models with a gate have three, as its own entry for Llama 7B accounts for.
        ffn_embed_dim=round(1.5 * width),
        expansion_ratio=1.5 * width / model.hidden,
        moe_num_experts=model.experts or 1,
        moe_top_k=model.active_experts or 1,
    )
    return LLMAnalysis(
        config,
        get_gpu_config_by_name(card),
        get_dtype_config_by_name(f"w{stored}a{computed}e16"),
        ParallelismConfig(tp_size=tensor_parallel),
        flops_efficiency=LLM_ANALYSIS_FLOPS_EFFICIENCY,
        hbm_memory_efficiency=LLM_ANALYSIS_MEMORY_EFFICIENCY,
    )


BERTH_CARDS = {
    "H100 SXM": "h100-sxm",
    "H100 PCIe": "h100-pcie",
    "H200 SXM": "h200-sxm",
    "B200": "b200",
    "MI300X": "mi300x",
    "A100-80GB SXM": "a100-80g",
    "A100-80GB PCIe": "a100-80g",
    "L40S": "l40s",
}


def berth(load: Load) -> tuple[float, float]:
    from berth.estimate import estimate
    from berth.silicon import FLEET
    from berth.workload import ModelSpec, WorkloadSpec, profile

    model, card = load.model, FLEET[_entry(BERTH_CARDS, load.gpu)]
    spec = ModelSpec(
        name=model.name,
        total_params_b=model.params_b,
        active_params_b=model.active_params_b,
        n_layers=model.layers,
        n_kv_heads=model.kv_heads or model.heads,
        head_dim=model.head_dim,
        n_heads=model.heads,
        bytes_per_param=load.weight_bits / 8,
        bytes_per_kv=load.kv_bytes,
        **({"attn": "mla", "kv_lora_rank": 512, "qk_rope_head_dim": 64} if model.latent_values == 576 else {}),
    )
    work = WorkloadSpec(spec, load.context_tokens, load.output_tokens, load.batch_size)
    found = estimate(profile(work), card, price_hr=1.0)
    # It spreads a model over the fewest cards that hold it; other layouts cannot be asked for.
    if not found.feasible or found.n_devices != load.gpu_count:
        raise NotAnswered(found.reason)
    # Prompts of a batch are worked on one after the other, as its queueing model has it.
    return load.batch_size * found.ttft_ms / MS_PER_S, found.tpot_ms / MS_PER_S


CHIMERAFORGE_CARDS = {
    "RTX 3080": "RTX 3080 10GB",
    "RTX 3090": "RTX 3090 24GB",
    "RTX 4070 Ti": "RTX 4070 Ti 12GB",
    "RTX 4080": "RTX 4080 16GB",
    "RTX 4090": "RTX 4090 24GB",
    "RTX 5060 Ti": "RTX 5060 Ti 16GB",
    "RTX 5070 Ti": "RTX 5070 Ti 16GB",
    "RTX 5090": "RTX 5090 32GB",
    "RTX PRO 6000 Blackwell": "RTX PRO 6000 Blackwell Workstation 96GB",
    "A100-40GB SXM": "A100 40GB",
    "A100-80GB SXM": "A100 80GB",
    "A100-80GB PCIe": "A100 80GB",
    "H100 SXM": "H100 80GB",
    "H100 PCIe": "H100 80GB",
    "H200 SXM": "H200 141GB",
    "B200": "B200 180GB",
    "MI300X": "MI300X 192GB",
    "MI325X": "MI325X 256GB",
}
CHIMERAFORGE_FORMATS = {
    "fp32": "FP32",
    "fp16": "FP16",
    "bf16": "BF16",
    "fp8": "FP8",
    "awq_int4": "AWQ",
    "gptq_int4": "GPTQ",
    "q4_k_m": "Q4_K_M",
}


def chimeraforge(load: Load) -> tuple[float, float]:
    from chimeraforge.planner.hardware import get_gpu
    from chimeraforge.planner.models import load_bundled_models

    planner, model = load_bundled_models(), load.model
    card = get_gpu(_entry(CHIMERAFORGE_CARDS, load.gpu))
    quant = _entry(CHIMERAFORGE_FORMATS, load.weight_precision)
    if card is None:
        raise NotAnswered(load.gpu)
    values = 2 * (model.kv_heads or model.heads) * model.head_dim
    kv_gb = (load.context_tokens + load.output_tokens / 2) * model.layers * values * load.kv_bytes / 1e9
    one = planner.throughput.roofline_tps(model.active_params_b, quant, card)
    rate = planner.throughput.tp_decode_tps(
        one,
        kv_gb,
        load.batch_size,
        load.gpu_count,
        model.hidden,
        model.layers,
        card.interconnect_gbps,
        card,
        model.active_params_b,
    )
    ttft_ms = planner.latency.predict_ttft_ms(model.active_params_b, load.context_tokens, card, quant=quant)
    prompts_s = load.batch_size * ttft_ms / MS_PER_S / load.gpu_count
    return prompts_s, load.batch_size / rate


GENZ_CARDS = {
    "A100-40GB SXM": "A100_40GB_GPU",
    "A100-80GB SXM": "A100_80GB_GPU",
    "A100-80GB PCIe": "A100_80GB_GPU",
    "H100 SXM": "H100_GPU",
    "GB200": "GB200",
    "MI300X": "MI300X",
    "MI325X": "MI325X",
}
GENZ_FORMATS = {"fp32": "fp32", "fp16": "bf16", "bf16": "bf16", "fp8": "fp8", "int8": "int8", "int4": "int4"}


def genz(load: Load) -> tuple[float, float]:
    return _genz_times(load.model, _entry(GENZ_CARDS, load.gpu), _entry(GENZ_FORMATS, load.weight_precision), load)


def _genz_times(model: Model, card: str, bits: str, load: Load) -> tuple[float, float]:
    from GenZ import decode_moddeling, prefill_moddeling
    from GenZ.Models.default_models import ModelConfig

    if model.intermediate is None or model.vocabulary is None:
        raise NotAnswered(model.name)
    config = ModelConfig(
        model=model.name,
        vocab_size=model.vocabulary,
        hidden_size=model.hidden,
        intermediate_size=model.intermediate,
        num_ffi=2,
        num_decoder_layers=model.layers,
        num_attention_heads=model.heads,
        head_dim=model.head_dim,
        num_key_value_heads=model.kv_heads,
        **(
            {
                "num_experts": model.experts,
                "expert_top_k": model.active_experts,
                "moe_intermediate_size": model.expert_intermediate,
            }
            if model.experts
            else {}
        ),
    )
    common = {
        "model": config,
        "batch_size": load.batch_size,
        "input_tokens": load.context_tokens,
        "system_name": card,
        "bits": bits,
        "tensor_parallel": load.gpu_count,
        "parallelism_heirarchy": f"TP{{{load.gpu_count}}}_EP{{1}}_PP{{1}}",
    }
    prompts_ms = prefill_moddeling(**common)["Latency"]
    # It beam-searches with four beams unless told otherwise.
    step_ms = decode_moddeling(**common, Bb=1, output_tokens=max(load.output_tokens // 2, 1))["Latency"]
    return prompts_ms / MS_PER_S, step_ms / MS_PER_S


AICONFIGURATOR_CARDS = {
    "A100-80GB SXM": "a100_sxm",
    "H100 SXM": "h100_sxm",
    "H200 SXM": "h200_sxm",
    "B200": "b200_sxm",
    "GB200": "gb200",
    "L40S": "l40s",
    "RTX PRO 6000 Blackwell": "rtx_pro_6000_server",
}
AICONFIGURATOR_ENGINES = {"tensorrt-llm": "trtllm", "vllm": "vllm", "sglang": "sglang"}
AICONFIGURATOR_FORMATS = {"fp16": "bfloat16", "bf16": "bfloat16", "fp8": "fp8", "nvfp4": "nvfp4"}


def aiconfigurator(load: Load) -> tuple[float, float]:
    """Its measured operator tables, with the batch as the requests under way; the model as a config.json of ours."""
    from aiconfigurator.cli.api import cli_estimate

    quant = _entry(AICONFIGURATOR_FORMATS, load.weight_precision)
    shared = {
        "system_name": _entry(AICONFIGURATOR_CARDS, load.gpu),
        "backend_name": _entry(AICONFIGURATOR_ENGINES, load.engine),
        "isl": load.context_tokens,
        "osl": max(load.output_tokens, 2),
        "batch_size": load.batch_size,
        "tp_size": load.gpu_count,
        "gemm_quant_mode": quant,
        "kvcache_quant_mode": "fp8" if load.kv_bytes == 1 else "bfloat16",
    }
    if load.model.experts:
        shared |= {"moe_tp_size": load.gpu_count, "moe_ep_size": 1, "moe_quant_mode": quant}
    found = cli_estimate(model_path=_published_config(load.model.name), **shared)
    if load.phase == "end_to_end":
        return _times(load, float(found.raw["tokens/s"]))
    return float(found.ttft) / MS_PER_S, float(found.tpot) / MS_PER_S


def _times(load: Load, tokens_per_s: float) -> tuple[float, float]:
    """A rate that already counts the prompts, as a step without any."""
    return 0.0, load.batch_size / tokens_per_s


@lru_cache(maxsize=64)
def _published_config(name: str) -> str:
    """A directory with the config.json that a model of this geometry has; only families that it reads."""
    model = load_model(name)
    if model.intermediate is None or model.vocabulary is None or model.latent_values or model.attention == "hybrid":
        raise NotAnswered(name)
    config = {
        "architectures": ["MixtralForCausalLM" if model.experts else "LlamaForCausalLM"],
        "model_type": "mixtral" if model.experts else "llama",
        "hidden_size": model.hidden,
        "intermediate_size": model.expert_intermediate or model.intermediate,
        "num_hidden_layers": model.layers,
        "num_attention_heads": model.heads,
        "num_key_value_heads": model.kv_heads or model.heads,
        "head_dim": model.head_dim,
        "vocab_size": model.vocabulary,
        "max_position_embeddings": model.maximum_context_tokens or 131072,
        "torch_dtype": "bfloat16",
    }
    if model.experts:
        config |= {"num_local_experts": model.experts, "num_experts_per_tok": model.active_experts}
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-"))
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return str(folder)


@dataclass(frozen=True)
class Held:
    """One measured row of GPU memory on a single card."""

    line: int  # of data/measured/memory.csv
    model: Model
    weight_precision: str
    method: str | None  # None: serving
    batch_size: int
    context_tokens: int


def read_held() -> list[Held]:
    """Rows of data/measured/memory.csv on one card, context and batch filled in as for our own prediction."""
    columns = read_columns(MEASURED_MEMORY)
    unstated = read_parameters()["unstated"]["measured_context_tokens"]
    read = read_set_ups(columns, load_catalogue().hardware, unstated_context_tokens=unstated)
    return [
        Held(line, one.model, one.weight_precision, one.method, int(batch), int(context))
        for line, one, batch, context in zip(count(2), read.set_up, read.batch_size, read.context_tokens)
        if one is not None and one.gpu_count == 1
    ]


HF_VRAM_CALC_FORMATS = {
    "fp32": "fp32",
    "fp16": "fp16",
    "bf16": "bf16",
    "fp8": "fp8",
    "int8": "int8",
    "int4": "int4",
    "nf4": "int4",
    "awq_int4": "awq_int4",
}


def hf_vram_calc(held: Held) -> float:
    """Its calculator, with the parameters given, since it would read them from a hub over the network."""
    from hf_vram_calc.calculator import VRAMCalculator
    from hf_vram_calc.config import ConfigManager

    calculator = VRAMCalculator(ConfigManager())
    params = round(held.model.params_b * PARAMS_PER_B)
    weights = calculator.calculate_model_memory(params, _entry(HF_VRAM_CALC_FORMATS, held.weight_precision))
    if held.method is None:
        return calculator.calculate_inference_memory(weights) * BYTES_PER_GIB / BYTES_PER_GB
    if held.method in ("lora", "qlora"):
        return calculator.calculate_lora_memory(weights, params) * BYTES_PER_GIB / BYTES_PER_GB
    return calculator.calculate_training_memory(weights) * BYTES_PER_GIB / BYTES_PER_GB


def llm_analysis_memory(held: Held) -> float:
    if held.method is not None or load_precision(held.weight_precision).bits_per_weight > 16:
        raise NotAnswered(held.weight_precision)
    analysis = llm_analysis_of(held.model, held.weight_precision, "a100-sxm-80gb", tensor_parallel=1)
    found = analysis.inference(batch_size_per_gpu=held.batch_size, seq_len=held.context_tokens)
    activations = max(found["prefill_activation_memory_per_gpu"], found["decode_activation_memory_per_gpu"])
    return (found["weight_memory_per_gpu"] + found["kv_cache_memory_per_gpu"] + activations) / BYTES_PER_GB


def chimeraforge_memory(held: Held) -> float:
    from chimeraforge.planner.models import load_bundled_models

    if held.method is not None:
        raise NotAnswered(held.method)
    model = held.model
    shape = {"n_layers": model.layers, "n_kv_heads": model.kv_heads or model.heads, "d_head": model.head_dim}
    found = load_bundled_models().vram.predict(
        model.name,
        _entry(CHIMERAFORGE_FORMATS, held.weight_precision),
        held.context_tokens,
        held.batch_size,
        params_b=model.params_b,
        arch=shape,
    )
    return found * BYTES_PER_GIB / BYTES_PER_GB


@dataclass(frozen=True)
class Predictor:
    """A package on the Python index and the functions that ask it."""

    package: str
    ask: Callable[[Load], tuple[float, float]] | None = None
    ask_memory: Callable[[Held], float] | None = None


PREDICTORS = {
    "llm-analysis": Predictor("llm-analysis", llm_analysis, llm_analysis_memory),
    "berth": Predictor("berth-placement", berth),
    "chimeraforge": Predictor("chimeraforge", chimeraforge, chimeraforge_memory),
    "genz": Predictor("genz-llm", genz),
    "aiconfigurator": Predictor("aiconfigurator", aiconfigurator),
    "hf-vram-calc": Predictor("hf-vram-calc", ask_memory=hf_vram_calc),
}


def ask(name: str, most: int | None = None) -> None:
    """Asks one installed predictor about every row, or about a random choice until so many are answered."""
    predictor = PREDICTORS[name]
    if predictor.ask is not None:
        _write(COMPARED / f"{name}.csv", predictor, read_loads(), lambda load: load.figure(*predictor.ask(load)), most)
    if predictor.ask_memory is not None:
        _write(COMPARED_MEMORY / f"{name}.csv", predictor, read_held(), predictor.ask_memory, most)


def _write(path: Path, predictor: Predictor, rows: list, figure_of: Callable, most: int | None) -> None:
    answers, refusals = [], Counter()
    for index in np.random.default_rng(RANDOM_STATE).permutation(len(rows)):
        if len(answers) == most:
            break
        try:
            figure = figure_of(rows[index])
        except Exception as error:  # a predictor refuses in its own ways: assertions, value errors, missing keys
            refusals[f"{type(error).__name__}: {str(error)[:60]}"] += 1
            continue
        if np.isfinite(figure) and figure > 0:
            answers.append((rows[index].line, f"{figure:.5g}"))
    path.parent.mkdir(exist_ok=True)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("line", f"{predictor.package} {version(predictor.package)}"))
        writer.writerows(sorted(answers))
    for reason, times in refusals.most_common(15):
        print(times, reason)
    print(len(answers), "answered")


def _answers(path: Path) -> tuple[str, list[int], np.ndarray]:
    columns = read_columns(path)
    title = next(column for column in columns if column != "line")
    return title, [int(line) for line in columns["line"]], numbers(columns[title], path, title)


def tables(measured, errors: dict[str, np.ndarray]) -> list[str]:
    """The section of docs/accuracy.md: each predictor beside this one, on the rows that it answers."""
    asked = {load.line for load in read_loads()}
    row_of = {line: row for row, line in enumerate(measured.labels["line"]) if line in asked}
    lines = ["### Beside other predictors", NOTE.format(asked=len(row_of)), *TABLE_HEADER]
    for path in sorted(COMPARED.glob("*.csv")):
        title, answered, value = _answers(path)
        known = [(row_of[line], figure) for line, figure in zip(answered, value) if line in row_of]
        rows, figures = np.array([row for row, _ in known]), np.array([figure for _, figure in known])
        theirs = np.log(measured.value[rows] / figures)
        for kind, of_kind in _kinds(measured.labels, rows).items():
            lines += _row(f"{title} | {kind}", theirs[of_kind], rows[of_kind], errors)
    return lines


def _row(name: str, theirs: np.ndarray, rows: np.ndarray, errors: dict[str, np.ndarray]) -> list[str]:
    """The table's line of one predictor and kind, beside our errors on the same rows; none for too few rows."""
    if len(rows) < FEWEST_ROWS:
        return []
    ours = [errors[way][rows] for way in ("random", "source")]
    shown = " | ".join(map(_figures, (theirs, theirs - np.median(theirs), *ours)))
    return [f"| {name} | {len(rows)} | {shown} |"]


def memory_tables(measured_gb: np.ndarray, is_serving: np.ndarray, errors: dict[str, np.ndarray]) -> list[str]:
    """Predictors of memory beside this one; `errors` are log(predicted / measured) by what was held out."""
    lines = ["### Beside other predictors", MEMORY_NOTE, *TABLE_HEADER]
    for path in sorted(COMPARED_MEMORY.glob("*.csv")):
        title, answered, value = _answers(path)
        rows = np.array(answered) - 2
        theirs = np.log(value / measured_gb[rows])
        for kind, of_kind in (("serving", is_serving[rows]), ("training", ~is_serving[rows])):
            lines += _row(f"{title} | {kind}", theirs[of_kind], rows[of_kind], errors)
    return lines


def _kinds(labels: dict[str, np.ndarray], rows: np.ndarray) -> dict[str, np.ndarray]:
    phase, engine, vendor = (labels[name][rows] for name in ("phase", "engine", "vendor"))
    tuned = (vendor == "NVIDIA") & np.isin(list(map(undated, engine)), ("tensorrt-llm", "vllm"))
    return {
        "all": np.ones(len(rows), dtype=bool),
        "whole requests, TensorRT-LLM and vLLM on NVIDIA": tuned & (phase == "end_to_end"),
        "decode": phase == "decode",
        "prefill": phase == "prefill",
    }


def _figures(log_errors: np.ndarray) -> str:
    size = np.abs(log_errors)
    return f"{np.median(size):.0%} / {np.quantile(size, 0.9):.0%}"


TABLE_HEADER = (
    "| predictor | rows of | answered | as it is | times its median miss | ours, random | ours, source |",
    "| --- | --- | ---: | --- | --- | --- | --- |",
)
NOTE = """
Predictors that install from the Python index, each in an environment of its own, on the {asked} rows that state batch
and lengths and use tensor parallel or one card (`fit/compare.py`; `requirements-compare.txt`). Each was given the same
geometry, format and load, uses its own entry for the card and its own defaults, and counts only where it answers.
Median and 90th percentile of |log(measured / predicted)|. Nothing was fitted for them, while ours are fitted to other
rows of the same kind: compare with the last column, where the whole source of a row is held out, and with the column in
which each predictor's figures are multiplied by its own median miss on these very rows. None but aiconfigurator knows
engines; most are roofs that real engines stay below, and say so.

* llm-analysis: its documented efficiencies, 0.7 of the FLOPs and 0.65 of the bandwidth.
* berth: always the fewest cards that hold the model, so only rows with that many; prompts one after the other.
* chimeraforge: its roofline and tensor-parallel formulas; its own measurements are of models up to 3.2 B on one card.
* genz: its default efficiency, which is the whole peak; batch without beams. A random 200 of its rows: it is slow.
* aiconfigurator: operator tables that its authors measured per card and engine. They are of engines of 2026, most rows
  of 2024: what engines gained since is about half of its miss. A random 200 of its rows likewise.
"""
MEMORY_NOTE = """
The rows on one card, each predictor with the same parameters, format, context and batch (`fit/compare.py`), as above.
hf-vram-calc counts 1.2 x the weights for serving and a multiple of them for training; its own reading of models from a
hub was passed by. chimeraforge adds the cache to 1.1 x the weights and predicts no training. llm-analysis adds up
weights, cache and activations; its training figures need a batch plan that the rows do not state.
"""


if __name__ == "__main__":
    ask(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None)
