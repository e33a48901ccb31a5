"""Memory: published cases, edges, and what must hold for every model."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudash.errors import GpudashError
from gpudash.memory import (
    OPTIMIZERS,
    inference_memory,
    kv_bytes_per_token,
    kv_cache_gb,
    maximum_batch,
    memory,
    run_time_buffer_gb,
    training_memory,
    verdict,
    weights_gb,
)
from gpudash.model import custom_model, load_model, load_precision, model_names, precision_names
from gpudash.tables import read_yaml
from gpudash.text import Text
from gpudash.units import BYTES_PER_GB, BYTES_PER_GIB, BYTES_PER_MIB, gb_of_mib, gib

CASES = read_yaml(Path(__file__).parent / "golden" / "memory.yaml")
FOUR_BIT = ("int4", "nf4", "awq_int4", "gptq_int4", "mxfp4", "nvfp4", "fp4")


def _model(given):
    """A model of a case: a preset's name, a geometry, or a preset whose file size is known."""
    if isinstance(given, str):
        return load_model(given)
    if "preset" in given:
        return load_model(given["preset"]).with_overrides(params_b=gb_of_mib(given["weights_mib"]) / 2)
    return custom_model(**given)


def _answers(calculation, given):
    """The calculated values of a case under the keys that cases use."""
    inputs = dict(given)
    if calculation == "custom_model":
        model = custom_model(**inputs)
        return {"params_b": model.params_b, "active_params_b": model.active_params_b}
    if calculation == "verdict":
        gb = inputs["per_gpu_gib"] * BYTES_PER_GIB / BYTES_PER_GB
        return {"verdict": verdict(gb, gb_of_mib(inputs["usable_mib"]))}
    model = _model(inputs.pop("model"))
    if calculation == "kv_bytes_per_token":
        return {"bytes": kv_bytes_per_token(model, **inputs)}
    if calculation == "inference_memory":
        inputs["buffer_gb"] = gb_of_mib(inputs.pop("buffer_mib"))
        inputs["state_gb"] = gb_of_mib(inputs.pop("state_mib", 0))
        total_gb = inference_memory(model, **inputs).total_gb
        return {"total_gb": total_gb, "total_mib": total_gb * BYTES_PER_GB / BYTES_PER_MIB}
    if calculation == "training_state":
        needed = training_memory(model, **inputs)
        gb = needed.weights_gb + needed.gradients_gb + needed.optimizer_gb
    elif calculation == "run_time_buffer":
        gb = run_time_buffer_gb(model, **inputs)
    elif calculation == "kv_cache_gb":
        gb = kv_cache_gb(model, **inputs)
    else:
        gb = weights_gb(model, inputs["precision"])
    return {"gb": gb, "gib": gib(gb), "mib": gb * BYTES_PER_GB / BYTES_PER_MIB}


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_published_size_is_reproduced(case):
    assert case["source"]
    answers = _answers(case["calculation"], case["inputs"])
    for key, expected in case["expected"].items():
        if isinstance(expected, str):
            assert answers[key] == expected
        else:
            assert answers[key] == pytest.approx(expected, rel=case.get("tolerance", 1e-9))


@pytest.mark.parametrize("precision", FOUR_BIT)
def test_a_4_bit_model_keeps_its_whole_16_bit_cache(precision):
    needed = inference_memory("llama-3.1-70b", precision, "fp16", 32768)
    assert gib(needed.kv_cache_gb) == pytest.approx(10.0)
    assert 0.5 < needed.weights_gb / 70.554 < 0.7


def test_a_mixture_of_experts_does_not_fit_where_only_its_active_part_would():
    model = custom_model(params_b=125.1, active_params_b=10)
    assert inference_memory(model, "int4", context_tokens=8192, usable_gb_per_gpu=51.5).verdict == "does_not_fit"
    assert inference_memory(model, "q4_k_m", context_tokens=8192, usable_gb_per_gpu=85.5).verdict == "tight"


def test_the_lines_add_up_with_buffer_and_state_as_inputs():
    needed = inference_memory("qwen3-next-80b-a3b", "fp8", context_tokens=262144, buffer_gb=2.5, state_gb=0.6)
    assert (needed.buffer_gb, needed.state_gb) == (2.5, 0.6)
    assert needed.total_gb == needed.weights_gb + needed.kv_cache_gb + needed.state_gb + needed.buffer_gb


@pytest.mark.parametrize("name", model_names())
def test_every_preset_is_sized_for_serving_and_for_adapters(name):
    for method in (None, "lora", "qlora", "full"):
        answer = memory(name, weights="bf16", context_tokens=128, batch_size=2, method=method, usable_gb_per_gpu=85.5)
        lines = [
            value for key, value in answer.items() if key.endswith("_gb") and key not in ("total_gb", "per_gpu_gb")
        ]
        assert sum(lines) == pytest.approx(answer["total_gb"])
        assert answer["weights_gb"] > 0 and np.isfinite(answer["total_gb"])
        assert answer["verdict"] in ("fits", "tight", "does_not_fit")
        assert all(Text(language).say(warning) for language in ("en", "zh") for warning in answer["warnings"])


def test_kv_heads_are_copied_where_tensor_parallelism_exceeds_them():
    assert kv_bytes_per_token("llama-3-8b", tensor_parallel=8) == 131072
    assert kv_bytes_per_token("llama-3-8b", tensor_parallel=16) == 2 * 131072
    assert kv_bytes_per_token("deepseek-v3", tensor_parallel=8) == 8 * 70272


def test_windowed_layers_stop_growing_at_their_window():
    inside, at, beyond = (kv_cache_gb("gemma-3-27b", tokens) for tokens in (512, 1024, 131072))
    assert at == pytest.approx(2 * inside)
    per_layer = 2 * 16 * 128 * 2 / BYTES_PER_GB
    assert beyond == pytest.approx(per_layer * (10 * 131072 + 52 * 1024))


def test_an_encoder_keeps_no_cache():
    assert kv_cache_gb("bert-large", 512, 32) == 0
    assert maximum_batch("bert-large", "fp16", context_tokens=512, usable_gb=16.0) == np.inf


def test_an_8_bit_cache_is_half_of_a_16_bit_one():
    assert kv_cache_gb("qwen3-8b", 4096, kv_precision="fp8") == kv_cache_gb("qwen3-8b", 4096) / 2


def test_arrays_give_the_same_as_numbers():
    contexts = np.array([1, 2048, 131072])
    together = inference_memory("gemma-3-12b", "bf16", "bf16", contexts, 4, usable_gb_per_gpu=42.9)
    single = [inference_memory("gemma-3-12b", "bf16", "bf16", int(n), 4, usable_gb_per_gpu=42.9) for n in contexts]
    assert together.total_gb == pytest.approx([one.total_gb for one in single])
    assert list(together.verdict) == [one.verdict for one in single]
    batches = maximum_batch("gemma-3-12b", "bf16", "bf16", contexts, usable_gb=42.9)
    assert list(batches) == [maximum_batch("gemma-3-12b", "bf16", "bf16", int(n), usable_gb=42.9) for n in contexts]


def test_the_largest_batch_fits_and_one_more_does_not():
    batch = maximum_batch("llama-3-8b", "bf16", "bf16", 8192, usable_gb=85.5)
    room = 0.92 * 85.5 - weights_gb("llama-3-8b", "bf16")
    assert kv_cache_gb("llama-3-8b", 8192, batch) <= room < kv_cache_gb("llama-3-8b", 8192, batch + 1)
    assert maximum_batch("llama-3.1-405b", "bf16", "bf16", 8192, usable_gb=85.5, gpu_count=8) == 0


def test_no_card_no_verdict():
    assert inference_memory("llama-3-8b", "bf16").verdict is None


def test_a_context_beyond_the_models_limit_is_a_warning_with_the_limit():
    (warning,) = inference_memory("llama-3-8b", "bf16", context_tokens=9000).warnings
    assert warning.code == "memory.context_too_long"
    assert "8,192" in Text("en").say(warning)


def test_full_training_of_quantised_weights_is_refused_with_a_way_out():
    for precision in precision_names():
        if not load_precision(precision).trainable:
            with pytest.raises(GpudashError, match="qlora"):
                training_memory("llama-3.1-70b", "full", precision)


def test_adam_holds_sixteen_bytes_a_parameter_in_every_trainable_format():
    for precision in ("bf16", "fp16", "fp8", "fp32"):
        needed = training_memory("llama-3.1-8b", "full", precision)
        assert needed.weights_gb + needed.gradients_gb + needed.optimizer_gb == pytest.approx(16 * 8.03)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@settings(max_examples=20, derandomize=True, deadline=None)
@given(tensor=st.sampled_from([1, 2, 4, 8]), pipeline=st.sampled_from([1, 2, 4]), data=st.sampled_from([1, 2, 8, 64]))
def test_memory_is_conserved_over_the_ranks(optimizer, tensor, pipeline, data):
    gpus = tensor * pipeline * data
    layout = {"gpu_count": gpus, "tensor_parallel": tensor, "pipeline_parallel": pipeline, "optimizer": optimizer}
    whole = training_memory("llama-3.1-70b", optimizer=optimizer)
    sharded = training_memory("llama-3.1-70b", zero_stage=3, **layout)
    copied = training_memory("llama-3.1-70b", zero_stage=0, **layout)
    for line in ("weights_gb", "gradients_gb", "optimizer_gb"):
        assert getattr(sharded, line) * gpus == pytest.approx(getattr(whole, line))
        assert getattr(copied, line) * gpus == pytest.approx(getattr(whole, line) * data)


def test_each_zero_stage_and_more_recomputation_need_less():
    stages = [training_memory("llama-3.1-8b", zero_stage=stage, gpu_count=8).total_gb for stage in range(4)]
    assert stages == sorted(stages, reverse=True)
    steps = [training_memory("llama-3.1-8b", recomputation=how).total_gb for how in ("none", "selective", "full")]
    assert steps == sorted(steps, reverse=True)


def test_adapters_need_less_than_full_training_and_4_bit_bases_less_again():
    full, lora, qlora = (training_memory("llama-3.1-8b", method).total_gb for method in ("full", "lora", "qlora"))
    assert full > lora > qlora


def test_gpus_that_do_not_fill_the_parallel_layout_are_refused():
    with pytest.raises(GpudashError, match="multiple"):
        training_memory("llama-3.1-8b", gpu_count=12, tensor_parallel=8)


@pytest.mark.parametrize(
    "options",
    [
        {"optimizer": "lion"},
        {"zero_stage": 4},
        {"recomputation": "some"},
        {"method": "prompt"},
        {"offload": "disk"},
        {"loss": "half"},
    ],
)
def test_an_unknown_option_is_refused_with_what_is_allowed(options):
    with pytest.raises(GpudashError, match="allowed"):
        training_memory("llama-3.1-8b", **options)


def test_gpu_counts_may_be_an_array():
    together = training_memory("llama-3.1-8b", zero_stage=3, gpu_count=np.array([1, 8, 64]), usable_gb_per_gpu=85.5)
    single = [training_memory("llama-3.1-8b", zero_stage=3, gpu_count=n, usable_gb_per_gpu=85.5) for n in (1, 8, 64)]
    assert together.total_gb == pytest.approx([one.total_gb for one in single])
    assert list(together.verdict) == [one.verdict for one in single]


def test_resnet_50_training_keeps_the_published_activations():
    needed = training_memory("resnet-50", micro_batch=256)
    assert needed.activations_gb == pytest.approx(256 * 11.11e6 * 2 * 2 / BYTES_PER_GB)
    assert next(iter(needed.warnings)).code == "memory.activations_estimated"


@settings(max_examples=50, derandomize=True, deadline=None)
@given(
    name=st.sampled_from(model_names()),
    tokens=st.integers(1, 200_000),
    batch=st.integers(1, 64),
    more=st.integers(1, 10_000),
)
def test_more_tokens_never_need_less(name, tokens, batch, more):
    less = inference_memory(name, "bf16", context_tokens=tokens, batch_size=batch).total_gb
    assert inference_memory(name, "bf16", context_tokens=tokens + more, batch_size=batch).total_gb >= less
    assert inference_memory(name, "bf16", context_tokens=tokens, batch_size=batch + 1).total_gb > less


KINDS_OF_ATTENTION = ("llama-3.1-8b", "mixtral-8x7b", "deepseek-v3", "gemma-3-27b", "qwen3-next-80b-a3b", "gpt-oss-20b")


@pytest.mark.parametrize("name", KINDS_OF_ATTENTION)
@settings(max_examples=20, derandomize=True, deadline=None)
@given(tokens=st.integers(1, 50_000), batch=st.integers(1, 64), times=st.integers(2, 9))
def test_a_cache_is_linear_in_requests_and_beyond_the_window_in_context(name, tokens, batch, times):
    start = load_model(name).window_tokens or 0
    per_token = kv_cache_gb(name, start + 1) - kv_cache_gb(name, start)
    grown = kv_cache_gb(name, start + times * tokens) - kv_cache_gb(name, start)
    assert grown == pytest.approx(times * tokens * per_token)
    assert kv_cache_gb(name, tokens, times * batch) == pytest.approx(times * kv_cache_gb(name, tokens, batch))


@pytest.mark.parametrize("name", KINDS_OF_ATTENTION)
def test_serving_memory_over_the_gpus_is_what_one_holds_plus_what_each_needs_anew(name):
    one = inference_memory(name, "bf16", context_tokens=4096, batch_size=4)
    for gpus in (2, 4, 8):
        many = inference_memory(name, "bf16", context_tokens=4096, batch_size=4, gpu_count=gpus)
        assert many.weights_gb == one.weights_gb
        assert many.kv_cache_gb >= one.kv_cache_gb
        assert many.per_gpu_gb * gpus == pytest.approx(many.total_gb)
        assert many.per_gpu_gb < one.per_gpu_gb


@pytest.mark.parametrize("name", KINDS_OF_ATTENTION)
@settings(max_examples=20, derandomize=True, deadline=None)
@given(tokens=st.integers(1, 20_000), micro_batch=st.integers(1, 16))
def test_more_training_tokens_never_need_less_and_keep_the_state(name, tokens, micro_batch):
    less = training_memory(name, micro_batch=micro_batch, sequence_tokens=tokens)
    more = training_memory(name, micro_batch=micro_batch + 1, sequence_tokens=tokens + 1)
    assert more.total_gb > less.total_gb
    assert (more.weights_gb, more.gradients_gb, more.optimizer_gb) == (
        less.weights_gb,
        less.gradients_gb,
        less.optimizer_gb,
    )


def test_sharded_training_gathers_layers_and_offloading_leaves_only_those():
    sharded = training_memory("llama-3.1-70b", zero_stage=3, gpu_count=8)
    copied = training_memory("llama-3.1-70b", gpu_count=8)
    assert sharded.buffer_gb - copied.buffer_gb == pytest.approx(2 * 2 * 70.554 / 80)
    offloaded = training_memory("llama-3.1-70b", zero_stage=3, gpu_count=8, offload="all")
    assert (offloaded.weights_gb, offloaded.gradients_gb, offloaded.optimizer_gb) == (0, 0, 0)
    assert offloaded.buffer_gb == sharded.buffer_gb


def test_adapters_are_counted_by_their_rank():
    llama = load_model("llama-3.1-8b")
    per_layer = 16 * (4 * 4096 + 2 * 128 * (32 + 8) + 3 * (4096 + 14336))
    state = training_memory(llama, "lora")
    assert state.gradients_gb + state.optimizer_gb == pytest.approx(14 * 32 * per_layer / BYTES_PER_GB)
    stated = training_memory(llama, "lora", trained_b=0.1)
    assert stated.gradients_gb + stated.optimizer_gb == pytest.approx(1.4)


def test_a_loss_in_chunks_and_tokens_split_over_gpus_need_less():
    whole = training_memory("llama-3.1-8b", gpu_count=8, sequence_tokens=8192)
    chunked = training_memory("llama-3.1-8b", gpu_count=8, sequence_tokens=8192, loss="chunked")
    split = training_memory("llama-3.1-8b", gpu_count=8, sequence_tokens=8192, context_parallel=8)
    assert chunked.logits_gb == whole.logits_gb / 4
    assert split.activations_gb == pytest.approx(whole.activations_gb / 8)
