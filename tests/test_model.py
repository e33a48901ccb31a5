"""Models: presets agree with their own geometry, names are forgiving, what is missing is estimated and said."""

import pytest

from gpudash.errors import GpudashError
from gpudash.model import (
    custom_model,
    load_model,
    load_precision,
    model_names,
    params_of_geometry,
    precision_names,
)
from gpudash.tables import DATA, read_columns, read_rows

# The count of these needs parts that the geometry columns do not hold: cross-attention, a vision tower, latent
# projections, shared experts or experts in every other layer.
NOT_DECODER_SHAPED = {
    "t5-small", "t5-base", "t5-large", "t0-3b", "mt0-xxl", "whisper-large", "whisper-medium", "whisper-small",
    "llama-4-scout", "llama-4-maverick", "gemma-3-4b", "gemma-3-12b", "minimax-text-01",
    "nemotron-3-nano", "qwen2.5-vl-7b", "qwen3-vl-8b", "glm-4v-9b", "internvl3-78b",
}  # fmt: skip


def _presets_with_geometry():
    rows = read_rows(DATA / "models.csv")
    return [row["name"] for row in rows if row["layers"] and row["attention"] != "latent"]


@pytest.mark.parametrize("name", sorted(set(_presets_with_geometry()) - NOT_DECODER_SHAPED))
def test_a_presets_parameters_follow_from_its_geometry(name):
    model = load_model(name)
    gated, _ = params_of_geometry(**vars(model))
    width = model.expert_intermediate if model.experts else model.intermediate
    plain = gated - model.layers * model.hidden * width * (model.experts or 1) / 1e9  # two matrices instead of three
    assert min(abs(gated / model.params_b - 1), abs(plain / model.params_b - 1)) < 0.025


def test_every_row_has_a_source_and_a_date_and_every_name_is_lower_case():
    for file in ("models.csv", "precisions.csv"):
        for row in read_rows(DATA / file):
            assert row["source"] and row["as_of"], row["name"]
            assert row["name"] == row["name"].lower() and " " not in row["name"]


@pytest.mark.parametrize(
    ("spelling", "precision"),
    [
        ("UINT4", "int4"),
        ("fp16/amp", "fp16"),
        ("amp_bf16", "bf16"),
        ("unstated (mixed/8-bit allowed)", "fp16"),
        ("clip1:fp32,clip2:fp32,unet:fp8,vae:fp32", "fp8"),
        ("{'clip1': 'fp16', 'clip2': 'fp16', 'unet': 'fp8', 'vae': 'int8'}", "fp8"),
    ],
)
def test_a_precision_is_known_as_benchmarks_print_it(spelling, precision):
    assert load_precision(spelling).name == precision


def test_every_alias_leads_to_a_preset():
    for row in read_rows(DATA / "model_aliases.csv"):
        assert load_model(row["alias"]).name == row["model"]


def test_no_two_presets_share_a_name():
    assert len(set(model_names())) == len(model_names()) >= 60


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("Llama-3.1-70B", "llama-3.1-70b"),
        ("meta-llama/Meta-Llama-3-8B-Instruct", "llama-3-8b"),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b"),
        ("GPT2", "gpt-2"),
        ("Qwen2.5 7B", "qwen2.5-7b"),
        ("google/gemma-3-1b-it", "gemma-3-1b"),
        ("DeepSeek-V3 (dropless)", "deepseek-v3"),
        ("ResNet50", "resnet-50"),
        ("BERT-large", "bert-large"),
    ],
)
def test_a_models_name_is_forgiving(typed, name):
    assert load_model(typed).name == name


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("BF16", "bf16"),
        ("int4 (Q4_K_M)", "q4_k_m"),
        ("Q4_K_M", "q4_k_m"),
        ("fp4 (NVFP4)", "nvfp4"),
        ("int4 (AWQ GEMM)", "awq_int4"),
        ("4.0bpw (EXL2)", "exl2_4.0"),
        ("nf4-double-quant", "nf4_double_quant"),
        ("fp4+fp8", "fp4_fp8"),
        ("F16", "fp16"),
    ],
)
def test_a_number_formats_name_is_forgiving(typed, name):
    assert load_precision(typed).name == name


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(GpudashError, match="llama-3-8b"):
        load_model("lama-3-8b")
    with pytest.raises(GpudashError, match="int4"):
        load_precision("int5")


def test_published_precisions_are_known():
    for name in model_names():
        load_precision(load_model(name).published_precision)


def test_formats_of_4_bits_compute_in_16_unless_the_hardware_has_fp4():
    computes = {name: load_precision(name).compute_bits for name in precision_names()}
    assert computes["awq_int4"] == computes["nf4"] == computes["mxfp4"] == 16
    assert computes["nvfp4"] == computes["fp4"] == 4
    assert computes["fp8"] == 8


def test_a_model_known_only_by_its_size_gets_a_likely_geometry_and_says_so():
    model = custom_model(params_b=70)
    assert (model.layers, model.hidden, model.kv_heads, model.head_dim) == (80, 8192, 8, 128)
    assert "layers" in model.estimated and "hidden" in model.estimated


def test_what_is_given_is_not_estimated():
    model = custom_model(params_b=7, layers=30, hidden=4096, heads=32, vocabulary=32000)
    assert model.layers == 30 and model.kv_heads == 32 and model.head_dim == 128
    assert model.estimated == ()


def test_the_active_share_may_be_given_instead_of_the_active_size():
    model = custom_model(params_b=100, active_params_fraction=0.1)
    assert model.active_params_b == pytest.approx(10)
    assert load_model("mixtral-8x7b").active_params_fraction == pytest.approx(0.276, rel=0.01)


def test_without_size_and_geometry_the_missing_parts_are_named():
    with pytest.raises(GpudashError, match="vocabulary"):
        custom_model(layers=32, hidden=4096, heads=32, intermediate=11008)


def test_fields_that_follow_from_others_follow_an_override():
    hybrid = load_model("qwen3-next-80b-a3b").with_overrides(layers=24)
    assert hybrid.layers_with_kv_cache == 6
    bigger = load_model("mixtral-8x7b").with_overrides(params_b=100)
    assert bigger.active_params_fraction == pytest.approx(load_model("mixtral-8x7b").active_params_fraction)
    assert load_model("llama-3-8b").with_overrides(layers=None) == load_model("llama-3-8b")


@pytest.mark.parametrize(
    "given",
    [
        {"params_b": 0},
        {"params_b": 7, "active_params_fraction": 0},
        {"layers": 32, "hidden": 4096, "heads": 0, "intermediate": 11008, "vocabulary": 32000},
        {"params_b": 7, "layers": -1},
        {"params_b": 7, "active_params_b": 8},
        {"params_b": 7, "layers": 32, "layers_with_kv_cache": 33},
        {"params_b": 7, "attention": "sliding_window"},
        {"params_b": 7, "attention": "latent"},
        {"params_b": 7, "attention": "quadratic"},
    ],
)
def test_a_geometry_that_contradicts_itself_is_refused_with_a_sentence(given):
    with pytest.raises(GpudashError) as refusal:
        custom_model(**given)
    assert len(str(refusal.value)) > 40


@pytest.mark.parametrize("table", ["inference", "training", "memory", "deployments"])
def test_every_model_of_the_measured_rows_is_known_by_name_or_refused_with_its_neighbours(table):
    names = sorted(set(read_columns(DATA / "measured" / f"{table}.csv")["model"]))
    unknown = []
    for name in names:
        try:
            load_model(name)
        except GpudashError as error:
            unknown.append(name)
            assert error.values["nearest"]
    assert unknown in ([], ["Kimi-K3"])  # of which nobody says how many parameters a token uses
