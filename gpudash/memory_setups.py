"""Rows of a table as set-ups of memory: model, formats, layout and framework, read from text cells.

A column that says something is believed; what it leaves open is taken from the words of the row (its statement, notes
and `memory_kind`), then from what the engine does by default (data/memory_parameters.yaml, engines).
"""

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gpudash.batch_rows import (
    count_refusals,
    finite,
    named_columns,
    numbers_or,
    reason_of,
    row_gpu,
    row_model,
)
from gpudash.errors import GpudashError
from gpudash.model import Model, load_precision, read_parameters
from gpudash.result import Message
from gpudash.training_memory import adapter_params_b
from gpudash.units import PARAMS_PER_B

# Other headings under which the same column is published.
_HEADINGS = {
    "layers": ("n_layers",),
    "heads": ("n_heads",),
    "kv_heads": ("n_kv_heads",),
    "weight_precision": ("weights_precision", "precision"),
    "context_tokens": ("seq_len", "sequence_tokens"),
    "batch_size": ("batch_or_concurrency", "batch", "micro_batch"),
    "task": ("method",),
    "recomputation": ("activation_checkpointing",),
}
_WORDS = ("statement_in_our_words", "notes", "memory_kind")
_GEOMETRY = ("params_b", "active_params_b", "layers", "hidden", "heads", "kv_heads", "head_dim", "vocabulary")
_CELLS = (
    *("task", "model", *_GEOMETRY, "weight_precision", "kv_precision", "gpu", "gpu_count", "tensor_parallel", "engine"),
    *("optimizer", "zero_stage", "recomputation", "as_of"),
)
_COUNTS = ("gpu_count", "tensor_parallel", "context_tokens", "batch_size")
_ADAPTERS = re.compile("lora|adapter|peft")
_WHOLE = re.compile("full|train|tun")
_ZERO = re.compile(r"zero-?\s?([0-3])\b", re.IGNORECASE)
_TRAINED = re.compile(r"trainable (?:params )?([\d,]+)")
_SHARE = re.compile(r"(?:utilisation|memory share at)\D{0,25}(0\.\d+)")
_OPTIMIZERS = {"8-bit adam": "adam_8bit", "8bit": "adam_8bit", "adafactor": "adafactor", "sgd": "sgd"}


@dataclass(frozen=True)
class Engine:
    """What an engine does by default, from data/memory_parameters.yaml; as it stands, an engine that is not named.

    A paged engine shares out its cache as requests come; others hold it `cache_copies` times. `share` is the part of a
    card it takes. Versions before `chunked_since` run a prompt in one step. The ZeRO stages are those of several cards.
    """

    is_paged: bool = False
    share: float = 1.0
    cache_copies: int = 1
    chunked_since: str = ""
    recomputation_one: str = "unknown"
    recomputation_many: str = "unknown"
    zero_stage: int = 0
    zero_stage_adapters: int = 0
    zero_stage_quantised: int = 0
    loss: str = "whole"
    batch_size: int = 1
    context_tokens: int | None = None


@dataclass(frozen=True, eq=False)
class SetUp:
    """Everything of a row but its context and batch; rows that say the same share one, and are computed together.

    `method` is None for serving. `gpu` is a row of the catalogue's hardware, None where no card is named. `share` is
    the part of a card that may be used. `trained_b` is what adapters train, None for the usual rank.
    """

    model: Model
    weight_precision: str
    kv_precision: str
    kv_layout: str
    method: str | None
    gpu: int | None
    gpu_count: int
    tensor_parallel: int
    pipeline_parallel: int
    context_parallel: int
    engine: Engine
    share: float
    prefill_chunk_tokens: float
    optimizer: str
    zero_stage: int
    offload: str
    recomputation: str
    trained_b: float | None
    memory_kind: str
    holds_prompt_logits: bool


@dataclass(frozen=True, eq=False)
class SetUps:
    """One entry per row; `set_up` is None where `because` says why the row cannot be read."""

    set_up: list[SetUp | None]
    context_tokens: np.ndarray
    batch_size: np.ndarray
    because: list[Message | None]

    def take(self, chosen: np.ndarray) -> "SetUps":
        """The rows of a mask."""
        rows = np.flatnonzero(chosen)
        set_ups, because = [self.set_up[row] for row in rows], [self.because[row] for row in rows]
        return SetUps(set_ups, self.context_tokens[rows], self.batch_size[rows], because)


def read_set_ups(columns: dict[str, list[str]], hardware, *, unstated_context_tokens: int) -> SetUps:
    """Rows of text cells as set-ups; a blank context takes the given value, a blank batch is one request."""
    cells = named_columns(columns, (*_CELLS, *_WORDS, "context_tokens", "batch_size"), _HEADINGS)
    words = [" ".join(row) for row in zip(*(cells[name] for name in _WORDS))]
    kinds = cells["memory_kind"]
    because = count_refusals(cells, dict.fromkeys(_COUNTS, 1))
    set_ups: list[SetUp | None] = [None] * len(because)
    for index, row in enumerate(zip(*(cells[name] for name in _CELLS))):
        if because[index] is None:
            try:
                set_ups[index] = _set_up(hardware, row, words[index], kinds[index])
            except (GpudashError, ValueError) as error:
                because[index] = reason_of(error)
    engines = [set_up.engine if set_up else Engine() for set_up in set_ups]
    contexts = [engine.context_tokens or unstated_context_tokens for engine in engines]
    context = numbers_or(cells["context_tokens"], contexts)
    batch = numbers_or(cells["batch_size"], [engine.batch_size for engine in engines])
    return SetUps(set_ups, context, batch, because)


@lru_cache(maxsize=16384)
def _set_up(hardware, row: tuple[str, ...], words: str, memory_kind: str) -> SetUp:
    cells = dict(zip(_CELLS, row))
    text = f"{cells['task']} {words}"
    method = _method(cells["task"], cells["weight_precision"])
    model = row_model(cells["model"], {name: cells[name] for name in _GEOMETRY})
    engine = _engine(cells["engine"], "training" if method else "serving")
    weights = _precision_name(cells["weight_precision"] or model.published_precision or "bf16")
    gpu_count = int(finite(cells["gpu_count"] or "1"))
    layout = _layout(cells, text, gpu_count, method)
    zero_stage = _zero_stage(cells, text, engine, method)
    if layout["pipeline_parallel"] > 1:  # shards stay gathered from one micro batch to the next
        zero_stage = min(zero_stage, 1)
    return SetUp(
        model=model,
        weight_precision=weights,
        kv_precision=_kv_precision(cells["kv_precision"], weights, words),
        kv_layout="expanded" if "full heads" in text else "latent",
        method=method,
        gpu=row_gpu(hardware, cells["gpu"]) if cells["gpu"] else None,
        gpu_count=gpu_count,
        **layout,
        engine=engine,
        share=_share(text, engine),
        prefill_chunk_tokens=_chunk(cells["as_of"], text, engine),
        optimizer=next(
            (name for word, name in _OPTIMIZERS.items() if word in f"{cells['optimizer']} {text}".lower()), "adam"
        ),
        zero_stage=zero_stage,
        offload=_offload(cells, text),
        recomputation=_recomputation(cells["recomputation"], engine, gpu_count),
        trained_b=_trained_b(text, model),
        memory_kind=memory_kind,
        holds_prompt_logits=_holds_prompt_logits(cells["as_of"], memory_kind),
    )


def _method(task: str, weights: str) -> str | None:
    """`full`, `lora` or `qlora`; None for serving."""
    task = task.lower()
    if task.startswith("qlora") or (_ADAPTERS.search(task) and "nf4" in task + weights):
        return "qlora"
    if _ADAPTERS.search(task):
        return "lora"
    return "full" if _WHOLE.search(task) else None


@lru_cache(maxsize=256)
def _precision_name(name: str) -> str:
    return load_precision(name).name


@lru_cache(maxsize=256)
def _engine(name: str, purpose: str) -> Engine:
    """The first engine of data/memory_parameters.yaml whose name is part of the cell."""
    if not name:
        return Engine()
    rules = read_parameters()["engines"][purpose]
    rule = next(rule for rule in rules if rule["contains"] in name.lower())
    return Engine(**{key: value for key, value in rule.items() if key not in ("contains", "source")})


def _layout(cells, text: str, gpu_count: int, method: str | None) -> dict[str, int]:
    """Tensor, pipeline and context parallel ranks; a serving engine stacks what is left as pipeline stages."""
    stated = {kind: re.search(rf"\b{kind} ?(\d+)", text) for kind in ("TP", "PP", "CP")}
    tensor, pipeline, context = (int(found[1]) if found else None for found in stated.values())
    if cells["tensor_parallel"]:
        tensor = int(finite(cells["tensor_parallel"]))
    if method is None:
        tensor = min(tensor or gpu_count, gpu_count)
        pipeline = gpu_count // tensor
    return {"tensor_parallel": tensor or 1, "pipeline_parallel": pipeline or 1, "context_parallel": context or 1}


def _zero_stage(cells, text: str, engine: Engine, method: str | None) -> int:
    """0 to 3; FSDP shards as stage 3 does, but its early versions kept frozen weights gathered, as stage 2 does."""
    said = f"ZeRO-{cells['zero_stage'][:1]}" if cells["zero_stage"][:1].isdigit() else cells["zero_stage"] or text
    if found := _ZERO.search(said):
        return int(found[1])
    if "FSDP" in said:
        keeps_frozen = method != "full" and "" < cells["as_of"] < read_parameters()["frozen_shards"]["since"]
        return 2 if keeps_frozen else 3
    if "plain data parallel" in said or re.search(r"whole (weights )?on each", said):
        return 0
    by_method = {"lora": engine.zero_stage_adapters, "qlora": engine.zero_stage_quantised}
    return by_method.get(method, engine.zero_stage)


def _offload(cells, text: str) -> str:
    said = f"{cells['optimizer']} {cells['zero_stage']} {text}".lower()
    if "paged" in said or "memory-saving" in said:  # next to nothing of the state stays on the GPU
        return "optimizer"
    return "all" if "offload" in said and "no cpu offload" not in said else "none"


def _recomputation(cell: str, engine: Engine, gpu_count: int) -> str:
    cell = cell.lower()
    if cell in ("none", "selective", "full"):
        return cell
    if cell:
        return "none" if cell in ("false", "no") else "full"
    return engine.recomputation_many if gpu_count > 1 else engine.recomputation_one


def _trained_b(text: str, model: Model) -> float | None:
    """Parameters an adapter method trains, where the row prints them or says that the embeddings are trained too."""
    if found := _TRAINED.search(text):
        return int(found[1].replace(",", "")) / PARAMS_PER_B
    if "(emb)" in text:
        return model.embedding_params_b + adapter_params_b(model)
    return None


def _kv_precision(cell: str, weights: str, words: str) -> str:
    if cell:
        return _precision_name(cell)
    if "int8 KV" in words:
        return "int8"
    return "fp32" if weights == "fp32" else "bf16"


def _share(text: str, engine: Engine) -> float:
    found = _SHARE.search(text)
    return float(found[1]) if found else engine.share


def _chunk(as_of: str, text: str, engine: Engine) -> float:
    """Prompt tokens of one step: all of them for engine versions from before prompts were cut."""
    if "chunked prefill" not in text and as_of and as_of < engine.chunked_since:
        return float("inf")
    return read_parameters()["inference_buffer"]["prefill_chunk_tokens"]


def _holds_prompt_logits(as_of: str, memory_kind: str) -> bool:
    """Whether the figure is from when a prompt's logits were all computed; text that is generated has one at a time."""
    return "" < as_of < read_parameters()["prompt_logits"]["until"] and "generating" not in memory_kind
