"""Models and number formats: presets by name, geometry typed in by hand, and what is estimated when it is missing."""

import re
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from functools import cache, lru_cache

import numpy as np

from gpudash.errors import GpudashError
from gpudash.tables import DATA, read_rows, read_yaml
from gpudash.units import PARAMS_PER_B

ATTENTION_KINDS = ("full", "sliding_window", "latent", "hybrid")
_GATED_MLP_MATRICES = 3  # gate, up and down projection, as in every language model published since LLaMA


@dataclass(frozen=True)
class Model:
    """A model's size and geometry; counts are per model, `_b` is billions of parameters.

    `active_params_b` is what one token uses (mixture of experts), equal to `params_b` for a dense model.
    `layers_with_kv_cache` is what hybrid models keep; encoders keep none. Of a sliding-window model
    `global_layers` see the whole context and the others at most `window_tokens`. `latent_values` and
    `expanded_values_per_head` are the two ways a latent-attention model stores one token in one layer.
    Fields that do not apply are None. `estimated` names the fields that were not given but guessed from the size.
    """

    name: str
    title: str
    family: str
    params_b: float
    active_params_b: float
    layers: int | None = None
    hidden: int | None = None
    intermediate: int | None = None
    heads: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    experts: int | None = None
    active_experts: int | None = None
    expert_intermediate: int | None = None
    attention: str | None = None
    window_tokens: int | None = None
    global_layers: int | None = None
    latent_values: int | None = None
    expanded_values_per_head: int | None = None
    layers_with_kv_cache: int | None = None
    vocabulary: int | None = None
    tied_embeddings: bool = False
    maximum_context_tokens: int | None = None
    published_precision: str | None = None
    forward_gflops: float | None = None
    activations_m: float | None = None
    source: str = ""
    as_of: str = ""
    estimated: tuple[str, ...] = ()

    @property
    def active_params_fraction(self) -> float:
        """Share of the parameters that one token uses, 0 to 1."""
        return self.active_params_b / self.params_b

    @property
    def embedding_params_b(self) -> float:
        """Parameters of the token table and, unless tied, of the output head: vocabulary x hidden x (1 or 2)."""
        if not self.vocabulary or not self.hidden:
            return 0.0
        tables = 1 if self.tied_embeddings else 2
        return min(self.vocabulary * self.hidden * tables / PARAMS_PER_B, self.params_b)

    def with_overrides(self, **given) -> "Model":
        """The same model with some fields replaced; None leaves a field as it is.

        A new `params_b` keeps the share of active parameters unless that is given too, and a new number of
        layers keeps the share of layers that hold a cache and that see the whole context.
        """
        changes = {name: value for name, value in given.items() if value is not None}
        if "active_params_fraction" in changes:
            fraction = changes.pop("active_params_fraction")
            changes["active_params_b"] = changes.get("params_b", self.params_b) * fraction
        elif "params_b" in changes and "active_params_b" not in changes:
            changes["active_params_b"] = changes["params_b"] * self.active_params_fraction
        if "layers" in changes and self.layers:
            for name in ("layers_with_kv_cache", "global_layers"):
                if getattr(self, name) is not None and name not in changes:
                    changes[name] = round(getattr(self, name) * changes["layers"] / self.layers)
        estimated = tuple(name for name in self.estimated if name not in changes)
        return _checked(replace(self, **changes, estimated=estimated))


@dataclass(frozen=True)
class Precision:
    """A number format: what a stored weight costs and which peak of a GPU it computes at.

    `bits` is the format's own width (a KV cache has no scales worth counting); `bits_per_weight` counts scales and
    zero points. `compute_bits` (16, 8 or 4) names the class of arithmetic; `peak_column` the column of hardware.csv.
    """

    name: str
    title: str
    bits: float
    bits_per_weight: float
    embeddings_in_16_bit: bool
    compute_bits: int
    peak_column: str
    trainable: bool
    source: str
    as_of: str


def load_model(name: str) -> Model:
    """The preset of that name; aliases, case, hyphens, an organisation in front and endings like -instruct are fine.

    A preset without published geometry gets an estimated one, named in `estimated`. Unknown names raise
    `model.unknown_model` with the nearest known ones.
    """
    return _preset(_resolve(name, _model_keys(), "model.unknown_model"))


def model_names() -> tuple[str, ...]:
    """The names of all presets, in the order of data/models.csv."""
    return tuple(_presets())


def load_precision(name: str) -> Precision:
    """The number format of that name or alias; unknown names raise `model.unknown_precision` with the nearest ones."""
    precisions, keys = _precisions()
    return precisions[_resolve(name, keys, "model.unknown_precision")]


def precision_names() -> tuple[str, ...]:
    """The names of all number formats, in the order of data/precisions.csv."""
    return tuple(_precisions()[0])


def custom_model(*, name: str = "custom", **geometry) -> Model:
    """A language model from what is known of it: the parameter count, the geometry, or both.

    Without `params_b` the count follows from the geometry (see `params_of_geometry`); without geometry it is
    estimated from the active parameters (see `estimated_geometry`) and named in `estimated`. None means unknown.
    Raises `model.no_size` when neither is enough.
    """
    given = {field: value for field, value in geometry.items() if value is not None}
    _check_positive(given)
    fraction = given.pop("active_params_fraction", None)
    if "params_b" not in given:
        missing = [field for field in ("layers", "hidden", "intermediate", "heads", "vocabulary") if field not in given]
        if missing and not ("expert_intermediate" in given and missing == ["intermediate"]):
            raise GpudashError("model.no_size", missing=", ".join(missing))
        total, active = params_of_geometry(**_with_derived(given))
        given["params_b"] = total
        given.setdefault("active_params_b", active)
    if fraction is not None:
        given["active_params_b"] = given["params_b"] * fraction
    given.setdefault("active_params_b", given["params_b"])
    model = Model(name=name, title=given.pop("title", name), family=given.pop("family", "language"), **given)
    return _checked(_completed(model))


def params_of_geometry(
    *, layers, hidden, heads, vocabulary, kv_heads=None, head_dim=None, intermediate=None, experts=None,
    active_experts=None, expert_intermediate=None, tied_embeddings=False, **_others,
):  # fmt: skip
    """Total and active parameters, in billions, of a decoder with gated feed-forward layers.

    layers x (2 x hidden x head_dim x (heads + kv_heads) + 3 x hidden x width x experts)
    + vocabulary x hidden x (1 or 2); for a dense model experts = 1 and width = intermediate.
    The active count uses `active_experts`.
    Norms, biases and routers are left out (below 0.1 %). Source: Vaswani 2017; Shazeer 2020 for the gate.
    """
    kv_heads = kv_heads or heads
    head_dim = head_dim or hidden // heads
    attention = 2 * hidden * head_dim * (heads + kv_heads)
    expert = _GATED_MLP_MATRICES * hidden * ((expert_intermediate if experts else None) or intermediate)
    embedding = vocabulary * hidden * (1 if tied_embeddings else 2)
    total = layers * (attention + expert * (experts or 1)) + embedding
    active = layers * (attention + expert * ((active_experts or experts) if experts else 1)) + embedding
    return total / PARAMS_PER_B, active / PARAMS_PER_B


def estimated_geometry(active_params_b: float) -> dict:
    """A likely geometry of a language model of that many active parameters.

    Layers and hidden size are interpolated, logarithmically in the parameter count, between the reference presets
    of data/memory_parameters.yaml; eight KV heads of 128 as all of them have since 2023.
    """
    names = read_parameters()["geometry_estimate"]["reference_models"]
    reference = [_presets()[name] for name in names]
    sizes = np.log([model.active_params_b for model in reference])
    size = np.log(active_params_b)
    layers, hidden, vocabulary = (
        float(np.exp(np.interp(size, sizes, np.log([getattr(model, field) for model in reference]))))
        for field in ("layers", "hidden", "vocabulary")
    )
    head_dim = read_parameters()["geometry_estimate"]["head_dim"]
    heads = max(1, round(hidden / head_dim))
    return {
        "layers": max(1, round(layers)),
        "hidden": heads * head_dim,
        "heads": heads,
        "kv_heads": min(heads, read_parameters()["geometry_estimate"]["kv_heads"]),
        "head_dim": head_dim,
        "vocabulary": round(vocabulary),
    }


@lru_cache(maxsize=1)
def read_parameters() -> dict:
    """data/memory_parameters.yaml: every measured or chosen number of the memory rules with its source."""
    return read_yaml(DATA / "memory_parameters.yaml")


def _with_derived(given: dict) -> dict:
    """Geometry that follows from other geometry: as many KV heads as heads, head_dim = hidden / heads."""
    derived = dict(given)
    if derived.get("heads"):
        derived.setdefault("kv_heads", derived["heads"])
        if derived.get("hidden"):
            derived.setdefault("head_dim", derived["hidden"] // derived["heads"])
    return derived


def _completed(model: Model) -> Model:
    """The model with every field that the memory and speed rules need; what had to be guessed is named."""
    if model.family in ("vision", "diffusion"):
        return model
    known = _with_derived({name: value for name, value in vars(model).items() if value is not None})
    guess = estimated_geometry(model.active_params_b)
    estimated = tuple(field for field in guess if field not in known)
    known = {**guess, **known}
    known.setdefault("attention", _attention_kind(known))
    known.setdefault("layers_with_kv_cache", known["layers"])
    if known["attention"] == "sliding_window":
        known.setdefault("global_layers", 0)
    known["estimated"] = estimated
    return Model(**known)


def _attention_kind(known: dict) -> str:
    if "latent_values" in known:
        return "latent"
    if "window_tokens" in known:
        return "sliding_window"
    return "hybrid" if known.get("layers_with_kv_cache", known["layers"]) < known["layers"] else "full"


_POSITIVE = (
    *("params_b", "active_params_b", "active_params_fraction", "layers", "hidden", "intermediate"),
    *("heads", "kv_heads", "head_dim", "experts", "active_experts", "expert_intermediate", "vocabulary"),
)


def _check_positive(given: dict) -> None:
    for field in _POSITIVE:
        value = given.get(field)
        if value is not None and not value > 0:
            raise GpudashError("model.not_positive", field=field, value=value)


def _checked(model: Model) -> Model:
    """The model itself, if its fields agree with each other; else a sentence saying which do not."""
    _check_positive(vars(model))
    if model.active_params_b > model.params_b * (1 + 1e-9):
        raise GpudashError("model.more_active_than_total", active=model.active_params_b, total=model.params_b)
    if model.attention is not None and model.attention not in ATTENTION_KINDS:
        raise GpudashError("model.unknown_attention", value=model.attention, allowed=", ".join(ATTENTION_KINDS))
    if model.attention == "sliding_window" and not model.window_tokens:
        raise GpudashError("model.window_missing")
    if model.attention == "sliding_window" and model.global_layers is None:
        model = replace(model, global_layers=0)  # nothing said: every layer sees the window only
    if model.attention == "latent" and not model.latent_values:
        raise GpudashError("model.latent_missing")
    for field in ("layers_with_kv_cache", "global_layers"):
        value = getattr(model, field)
        if value is not None and model.layers is not None and not 0 <= value <= model.layers:
            raise GpudashError("model.too_many_layers", field=field, value=value, layers=model.layers)
    return model


_ENDINGS = re.compile(r"-(instruct|chat|base|it|hf|thinking|preview|v\d+(\.\d+)?|\d{4})$")


def _key(name: str) -> str:
    """A name without case, spaces, hyphens and underscores, so that GPT2, gpt-2 and gpt_2 are one."""
    return re.sub(r"[\s_-]", "", name.lower())


def _resolve(name: str, keys: dict[str, str], code: str) -> str:
    """The canonical name behind what was typed; tries it whole, then without organisation and endings."""
    short = name.strip().lower()
    if _key(short) in keys:
        return keys[_key(short)]
    short = short.rsplit("/", 1)[-1]
    while _key(short) not in keys and _ENDINGS.search(short):
        short = _ENDINGS.sub("", short)
    if _key(short) in keys:
        return keys[_key(short)]
    nearest = get_close_matches(_key(name), keys, n=5, cutoff=0.5) or list(keys)[:5]
    raise GpudashError(code, name=name, nearest=", ".join(dict.fromkeys(keys[key] for key in nearest)))


@lru_cache(maxsize=1)
def _presets() -> dict[str, Model]:
    """The rows of data/models.csv as they stand, by name."""
    integers = {field.name for field in fields(Model) if field.type == "int | None" or field.type == (int | None)}
    numbers = {"params_b", "active_params_b", "forward_gflops", "activations_m"}
    presets = {}
    for row in read_rows(DATA / "models.csv"):
        values = {column: cell for column, cell in row.items() if cell}
        for column in values.keys() & integers:
            values[column] = int(values[column])
        for column in values.keys() & numbers:
            values[column] = float(values[column])
        values["tied_embeddings"] = values.get("tied_embeddings") == "true"
        presets[row["name"]] = Model(**values)
    return presets


@cache
def _preset(name: str) -> Model:
    return _checked(_completed(_presets()[name]))


@lru_cache(maxsize=1)
def _model_keys() -> dict[str, str]:
    keys = {_key(name): name for name in _presets()}
    for row in read_rows(DATA / "model_aliases.csv"):
        keys.setdefault(_key(row["alias"]), row["model"])
    return keys


@lru_cache(maxsize=1)
def _precisions() -> tuple[dict[str, Precision], dict[str, str]]:
    """The rows of data/precisions.csv by name, and every spelling of a name."""
    precisions, keys = {}, {}
    for row in read_rows(DATA / "precisions.csv"):
        aliases = row.pop("aliases").split(";")
        row |= {
            "bits": float(row["bits"]),
            "bits_per_weight": float(row["bits_per_weight"]),
            "compute_bits": int(row["compute_bits"]),
            "embeddings_in_16_bit": row["embeddings_in_16_bit"] == "true",
            "trainable": row["trainable"] == "true",
        }
        precisions[row["name"]] = Precision(**row)
        for spelling in (row["name"], row["title"], *aliases):
            if spelling:
                keys.setdefault(_key(spelling), row["name"])
    return precisions, keys
