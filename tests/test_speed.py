"""Speed of language models: what more hardware, fewer tokens and unknown names do."""

from dataclasses import replace
from math import log
from pathlib import Path

import numpy as np
import pytest

from gpudash.catalogue import load_catalogue
from gpudash.engines import card_parameters, engine_name, engine_names, engine_parameters, is_measured, undated
from gpudash.errors import GpudashError
from gpudash.measured import nearest_measured, sample_speed
from gpudash.model import custom_model, load_model
from gpudash.speed import Cards, Transformer, inference_speed
from gpudash.speed_rows import predict_rows
from gpudash.tables import DATA, read_columns, read_yaml
from gpudash.training_rows import predict_training_rows
from gpudash.training_speed import TrainingWork, training_speed

CASES = read_yaml(Path(__file__).parent / "golden" / "speed.yaml")
HARDWARE = load_catalogue().hardware

LLAMA_8B = Transformer(
    weights_gb=16.06,
    params_b=8.03,
    active_params_b=8.03,
    layers=32,
    hidden=4096,
    attention_values=4096,
    kv_heads=8,
    kv_bytes_per_token=131_072,
)
H100 = Cards(
    bandwidth_gb_per_s=3350,
    peak_tflops=989.4,
    peak_16bit_tflops=989.4,
    link_gb_per_s=450,
    linked_gpus=np.inf,
    pcie_gb_per_s=63,
)
LOAD = {"gpu_count": 1, "batch_size": 16, "context_tokens": 1000, "output_tokens": 300}


def speed(transformer=LLAMA_8B, cards=H100, engine="vllm", vendor="NVIDIA", **load):
    return inference_speed(transformer, cards, engine_parameters(engine, vendor), **LOAD | load)


@pytest.mark.parametrize("engine", engine_names())
def test_more_hardware_or_fewer_tokens_never_slow_the_prediction(engine):
    random = np.random.default_rng(7)
    gpu_count, batch = random.choice([1, 2, 4, 8], 500), random.integers(1, 512, 500)
    context, output = random.integers(1, 30_000, 500), random.integers(1, 3_000, 500)
    load = {"gpu_count": gpu_count, "batch_size": batch, "context_tokens": context, "output_tokens": output}
    base = speed(engine=engine, **load)
    faster_cards = Cards(
        bandwidth_gb_per_s=5000, peak_tflops=2000, peak_16bit_tflops=1500, link_gb_per_s=900, linked_gpus=np.inf
    )
    for better in (
        speed(cards=faster_cards, engine=engine, **load),
        speed(engine=engine, **load | {"context_tokens": context // 2}),
    ):
        assert np.all(better.output_tokens_per_s >= base.output_tokens_per_s)
        assert np.all(better.tpot_ms <= base.tpot_ms)
        assert np.all(better.ttft_ms <= base.ttft_ms)
    assert np.all(speed(engine=engine, **load | {"output_tokens": output // 2}).requests_per_s >= base.requests_per_s)


def test_one_call_for_many_servers_gives_the_numbers_of_single_calls():
    batches = np.array([1, 8, 64])
    counts = np.array([[1], [4]])
    together = speed(batch_size=batches, gpu_count=counts)
    assert together.tpot_ms.shape == (2, 3)
    for row, count in enumerate(counts[:, 0]):
        for column, batch in enumerate(batches):
            alone = speed(batch_size=int(batch), gpu_count=int(count))
            assert together.tpot_ms[row, column] == pytest.approx(alone.tpot_ms, rel=1e-12)


def test_a_request_spends_its_answer_time_between_its_tokens():
    alone = speed(batch_size=1)
    assert alone.tpot_ms == pytest.approx(alone.step_s * 1000)
    loaded = speed(batch_size=16)
    assert loaded.tpot_ms == pytest.approx((loaded.prefill_s * 15 / 16 / 300 + loaded.step_s) * 1000)
    assert loaded.ttft_ms > alone.ttft_ms


def test_an_encoder_has_prefill_only():
    encoder = speed(output_tokens=0)
    assert encoder.output_tokens_per_s == 0
    assert encoder.tpot_ms == 0
    assert encoder.requests_per_s == pytest.approx(16 / encoder.prefill_s)


def test_a_prefix_cache_saves_prefill_and_leaves_decoding_alone():
    cached = speed(prefix_cache_hit_fraction=0.5)
    assert cached.prefill_s < speed().prefill_s
    assert cached.step_s == speed().step_s


def test_pcie_between_gpus_is_slower_and_less_certain_than_a_link():
    without = Cards(3350, 989.4, 989.4, link_gb_per_s=0, linked_gpus=1, pcie_gb_per_s=63)
    assert speed(cards=without, gpu_count=4).step_s > speed(gpu_count=4).step_s
    assert speed(cards=without, gpu_count=4).sigma_log > speed(gpu_count=4).sigma_log
    assert speed(cards=without).step_s == speed().step_s


def test_a_batch_of_a_mixture_of_experts_reads_more_weights_than_one_request_but_never_more_than_all():
    mixtral = Transformer(93.4, 46.7, 12.9, 32, 4096, 4096, 8, 131_072)
    assert mixtral.weights_touched_gb(1) == pytest.approx(25.8)
    assert 25.8 < mixtral.weights_touched_gb(4) < mixtral.weights_touched_gb(64) <= 93.4


def test_a_sliding_window_bounds_what_a_step_reads():
    gemma = Transformer(24, 12, 12, 48, 3840, 4096, 8, 393_216, windowed_fraction=40 / 48, window_tokens=1024)
    assert gemma.seen_tokens(1024) == 1024
    assert gemma.seen_tokens(10_240) == pytest.approx(10_240 / 6 + 1024 * 5 / 6)


def test_an_unknown_engine_is_answered_with_the_nearest_names():
    with pytest.raises(GpudashError, match="vllm"):
        engine_parameters("vlm", "NVIDIA")


def test_a_vendor_nobody_measured_carries_the_widest_band():
    known = [engine_parameters(engine, vendor) for engine in engine_names() for vendor in ("NVIDIA", "AMD", "Intel")]
    assert engine_parameters("vllm", "Huawei").sigma_log >= max(p.sigma_log for p in known)


def test_a_card_nobody_measured_carries_a_wider_band_than_its_measured_sister():
    l4, a100 = (
        engine_parameters("vllm", "NVIDIA", *card) for card in (("Ada Lovelace", "L4"), ("Ampere", "A100-40GB SXM"))
    )
    assert l4.sigma_log > a100.sigma_log
    assert replace(l4, sigma_log=0, sigma_log_without_link=0) == replace(a100, sigma_log=0, sigma_log_without_link=0)
    assert not is_measured("vllm", "NVIDIA", "Ada Lovelace", "L4")
    assert is_measured("vllm", "NVIDIA", "Ampere", "A100-40GB SXM")


@pytest.mark.parametrize(
    ("spelling", "engine"),
    [
        ("vLLM (2025-12)", "vllm"),
        ("vLLM 0.23", "vllm"),
        ("TensorRT-LLM 0.15", "tensorrt-llm"),
        ("SGLang 0.4.6", "sglang"),
        ("HF transformers 4.51", "eager"),
        ("litgpt (PyTorch Lightning)", "eager"),
        ("LMDeploy TurboMind 0.2.0", "lmdeploy"),
        ("Deepspeed-MII", "deepspeed"),
        ("llama.cpp", "llama.cpp"),
        ("gpt-fast (torch.compile)", "unknown"),
        ("NIM/TensorRT-LLM", "tensorrt-llm"),
        ("vLLM or SGLang", "vllm"),
        ("transformers/DeepSpeed", "eager"),
        ("LLaMA-Factory", "eager"),
        ("TGI", "unknown"),
    ],
)
def test_an_engine_is_known_by_its_usual_spellings_and_with_its_version(spelling, engine):
    assert engine_name(spelling) == engine


def test_rows_of_2024_on_amd_are_predicted_by_the_engine_of_that_year_and_users_get_todays():
    columns = {"model": ["llama-3-8b"] * 2, "gpu": ["MI300X"] * 2, "engine": ["vLLM"] * 2, "precision": ["fp16"] * 2}
    columns |= {"input_tokens": ["512"] * 2, "output_tokens": ["512"] * 2, "batch_or_concurrency": ["64"] * 2}
    then, now = predict_rows(columns | {"as_of": ["2024-10", "2026-01"]}, HARDWARE).predicted
    assert now > 2 * then
    assert "vllm-2024" not in engine_names()
    assert engine_parameters("vllm-2024", "AMD", "CDNA 3") != engine_parameters("vllm", "AMD", "CDNA 3")


def test_rows_of_earlier_years_on_nvidia_are_predicted_by_the_engine_of_that_year():
    columns = {"model": ["llama-3-8b"] * 3, "gpu": ["A100-80GB SXM"] * 3, "engine": ["vLLM"] * 3}
    columns |= {"precision": ["fp16"] * 3, "input_tokens": ["512"] * 3, "output_tokens": ["512"] * 3}
    columns |= {"batch_or_concurrency": ["128"] * 3, "as_of": ["2023-10", "2024-10", "2026-01"]}
    first, then, now = predict_rows(columns, HARDWARE).predicted
    assert first < then < now
    assert {"vllm-2023", "vllm-2024"}.isdisjoint(engine_names())
    assert undated("vllm-2024") == "vllm"


def test_an_engine_never_measured_on_a_vendor_is_no_faster_there_than_its_own_limits_and_the_vendors():
    row = HARDWARE.index("Gaudi2")
    cards = Cards.of(HARDWARE, row, 16)
    vllm, unknown, own = (
        inference_speed(LLAMA_8B, cards, engine_parameters(*engine), **LOAD).output_tokens_per_s
        for engine in (("vllm", "Intel", "", "Gaudi2"), ("unknown", "Intel", "", "Gaudi2"), ("vllm", "NVIDIA"))
    )
    assert vllm <= unknown
    assert vllm <= own * (1 + 1e-9)


def test_sums_of_16_bit_double_the_speed_of_gaming_cards_only():
    assert Cards.of(HARDWARE, HARDWARE.index("RTX 4090"), 16).narrow_sum_gain == pytest.approx(2, rel=0.01)
    assert Cards.of(HARDWARE, HARDWARE.index("RTX 6000 Ada"), 16).narrow_sum_gain == pytest.approx(1, rel=0.01)
    assert Cards.of(HARDWARE, HARDWARE.index("MI300X"), 16).narrow_sum_gain >= 1
    gaming = Cards.of(HARDWARE, HARDWARE.index("RTX 4090"), 16)
    assert gaming.peaks_tflops(engine_parameters("llama.cpp", "NVIDIA"))[0] == pytest.approx(330.3)
    assert gaming.peaks_tflops(engine_parameters("vllm", "NVIDIA"))[0] == pytest.approx(165.2)


def test_a_long_prompt_fills_cards_that_share_the_layers_and_a_short_one_does_not():
    columns = {"model": ["llama-3-8b"] * 4, "gpu": ["RTX A6000"] * 4, "engine": ["llama.cpp"] * 4}
    columns |= {"precision": ["q4_k_m"] * 4, "phase": ["prefill"] * 4, "batch_or_concurrency": ["1"] * 4}
    columns |= {"input_tokens": ["512", "512", "4096", "4096"], "gpu_count": ["1", "4"] * 2}
    columns |= {"parallelism": ["", "layer-split4"] * 2}
    one, four, one_long, four_long = predict_rows(columns, HARDWARE).predicted
    assert four == pytest.approx(one)
    assert 1.8 * one_long < four_long < 4 * one_long


def test_packed_weights_never_compute_faster_than_unpacked_ones_in_llama_cpp():
    columns = {"model": ["llama-3-8b"] * 2, "gpu": ["RTX 4090"] * 2, "engine": ["llama.cpp"] * 2}
    columns |= {"precision": ["fp16", "q4_k_m"], "phase": ["prefill"] * 2, "input_tokens": ["2048"] * 2}
    whole, packed = predict_rows(columns, HARDWARE).predicted
    assert packed < whole


def test_every_card_of_the_catalogue_gets_a_speed_or_nan_where_its_figures_are_not_published():
    rows = np.arange(len(HARDWARE.names))
    transformer = Transformer.of(load_model("llama-3.1-8b"), "bf16", "bf16")
    found = inference_speed(
        transformer, Cards.of(HARDWARE, rows, 16), card_parameters("vllm", HARDWARE, rows), **LOAD
    ).output_tokens_per_s
    published = np.isfinite(HARDWARE.bandwidth_gb_per_s) & np.isfinite(HARDWARE.fp16_tflops)
    assert np.array_equal(np.isfinite(found), published)
    assert np.all(found[published] > 0)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_published_speed_is_predicted_within_its_band(case):
    assert case["source"]
    expected = next(iter(case["expected"].values()))
    assert abs(log(expected / _predicted(case["calculation"], **case["inputs"]))) <= log(case["within"])


def _predicted(calculation, model, gpu, **inputs):
    if calculation == "samples":
        return sample_speed(model, gpu).samples_per_s
    model = custom_model(**model) if isinstance(model, dict) else load_model(model)
    row, gpu_count = HARDWARE.index(gpu), inputs.pop("gpu_count")
    if calculation == "training":
        precision = inputs.pop("precision")
        work = TrainingWork.of(model, inputs.pop("method"), **inputs)
        return training_speed(work, HARDWARE, row, gpu_count=gpu_count, precision=precision).tokens_per_s / gpu_count
    transformer = Transformer.of(model, inputs.pop("precision"), inputs.pop("kv_precision"))
    parameters = engine_parameters(inputs.pop("engine"), HARDWARE.vendor[row], HARDWARE.architecture[row])
    cards = Cards.of(HARDWARE, row, transformer.compute_bits)
    found = inference_speed(transformer, cards, parameters, gpu_count=gpu_count, **inputs)
    return found.output_tokens_per_s if calculation == "inference" else found.prefill_s * 1000


def test_a_table_of_set_ups_is_predicted_row_by_row_as_single_calls_would():
    columns = {
        "model": ["Llama-3.1-8B", "Llama-3.1-8B", "no such model", "Llama-3.1-8B"],
        "gpu": ["H100 SXM", "A100", "H100 SXM", "no such card"],
        "gpu_count": ["1", "2", "1", "1"],
        "precision": ["fp8", "fp16", "fp16", "fp16"],
        "engine": ["vLLM", "TensorRT-LLM 0.15", "vLLM", "vLLM"],
        "phase": ["end_to_end", "decode", "end_to_end", "end_to_end"],
        "input_tokens": ["1000", "500", "10", "10"],
        "output_tokens": ["300", "100", "10", "10"],
        "batch_or_concurrency": ["16", "max (unstated, infinite request rate)", "1", "1"],
    }
    found = predict_rows(columns, HARDWARE)
    transformer = Transformer.of(load_model("llama-3.1-8b"), "fp8", "bf16")
    row = HARDWARE.index("H100 SXM")
    alone = inference_speed(
        transformer, Cards.of(HARDWARE, row, 8), engine_parameters("vllm", "NVIDIA", "Hopper", "H100 SXM"), **LOAD
    )
    assert found.predicted[0] == pytest.approx(float(alone.output_tokens_per_s))
    assert found.low[0] == pytest.approx(float(alone.output_tokens_per_s * alone.low_factor))
    assert found.low[1] < found.predicted[1] < found.high[1]
    assert np.isnan(found.predicted[2:]).all()
    assert [reason is None for reason in found.because] == [True, True, False, False]


def test_an_unknown_model_with_parameters_is_predicted_from_estimated_geometry():
    columns = {"model": ["in-house-9b"], "params_b": ["9"], "gpu": ["H100 SXM"], "engine": ["vllm"]}
    columns |= {"precision": ["bf16"], "input_tokens": ["500"], "output_tokens": ["200"]}
    assert predict_rows(columns, HARDWARE).predicted[0] > 0


def test_half_of_the_measured_rows_lie_within_a_ninth_and_the_band_holds_nine_tenths():
    path = DATA / "measured" / "inference.csv"
    columns = read_columns(path)
    used = [phase == "end_to_end" and not caveat for phase, caveat in zip(columns["phase"], columns["caveat"])]
    columns = {name: [cell for cell, keep in zip(cells, used) if keep] for name, cells in columns.items()}
    measured = np.array(columns["output_tokens_per_s"], dtype=float)
    found = predict_rows(columns, HARDWARE)
    assert np.median(np.abs(np.log(measured / found.predicted))) < 0.09
    assert 0.87 < np.mean((found.low <= measured) & (measured <= found.high)) < 0.95


def test_training_rows_are_predicted_with_a_median_error_below_an_eighth():
    path = DATA / "measured" / "training.csv"
    columns = read_columns(path)
    used = [bool(rate) and not caveat for rate, caveat in zip(columns["tokens_per_s_per_gpu"], columns["caveat"])]
    columns = {name: [cell for cell, keep in zip(cells, used) if keep] for name, cells in columns.items()}
    measured = np.array(columns["tokens_per_s_per_gpu"], dtype=float)
    found = predict_training_rows(columns, HARDWARE)
    assert np.median(np.abs(np.log(measured / found.predicted))) < 0.12


def test_training_loses_with_more_gpus_and_a_frozen_base_saves_a_third_of_the_arithmetic():
    rows = np.array([HARDWARE.index("H100 SXM"), HARDWARE.index("A100-80GB SXM")])
    full = TrainingWork.of(load_model("llama-3.1-8b"), "full", sequence_tokens=4096)
    few = training_speed(full, HARDWARE, rows, gpu_count=8, precision="bf16")
    many = training_speed(full, HARDWARE, rows, gpu_count=1024, precision="bf16")
    assert np.all(many.tokens_per_s > few.tokens_per_s)
    assert np.all(many.tokens_per_s / 1024 < few.tokens_per_s / 8)
    assert np.all((few.low < few.tokens_per_s) & (few.tokens_per_s < few.high))
    lora = TrainingWork.of(load_model("llama-3.1-8b"), "lora", sequence_tokens=4096)
    assert lora.tflop_per_token() / full.tflop_per_token() == pytest.approx(2 / 3)
    with pytest.raises(GpudashError, match="lora"):
        TrainingWork.of(load_model("llama-3.1-8b"), "distillation", sequence_tokens=4096)


def test_the_nearest_measured_result_of_a_measured_set_up_is_itself():
    asked = {"weight_precision": "fp16", "engine": "vllm", "batch_size": 16}
    asked |= {"context_tokens": 1024, "output_tokens": 1024}
    nearest = nearest_measured(load_model("llama-3-8b"), "A100-40GB SXM", **asked)
    assert len(nearest) == 5
    assert nearest[0].distance == pytest.approx(0, abs=1e-6)
    assert nearest[0].output_tokens_per_s == pytest.approx(822.721)
    assert nearest[0].predicted_tokens_per_s == pytest.approx(822.721, rel=0.25)
    assert [row.distance for row in nearest] == sorted(row.distance for row in nearest)


def test_the_speed_of_a_vision_model_is_not_carried_over_to_another_card():
    assert sample_speed("resnet-50", "H20") is None
    assert sample_speed("resnet-50", "L4") is not None
    found = sample_speed("resnet-50", "H100 SXM", scenario="offline")
    assert found.low <= found.samples_per_s <= found.high
    assert found.toolkits == ("MLPerf submission",)


def test_rows_of_another_engine_do_not_count_as_measured():
    """Gaudi 2 was measured under DeepSpeed; a prediction for vLLM on it rests on those rows and says so."""
    assert is_measured("deepspeed", "Intel", "Gaudi 2", "Gaudi2")
    assert not is_measured("vllm", "Intel", "Gaudi 2", "Gaudi2")
