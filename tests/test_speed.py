"""Speed of language models: what more hardware, fewer tokens and unknown names do."""

import numpy as np
import pytest

from gpudash.errors import GpudashError
from gpudash.speed import Cards, Transformer, engine_names, engine_parameters, inference_speed

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
    widest = max(engine_parameters(engine, "NVIDIA").sigma_log for engine in engine_names())
    assert engine_parameters("vllm", "Huawei").sigma_log > widest
