"""Tables of set-ups: what fits, what is measured, and what is said when a row cannot be read."""

import numpy as np
import pytest

from fit.memory import held_out_verdicts, random_folds, read_measured, read_verdicts
from gpudash.bands import SIGMAS
from gpudash.catalogue import load_catalogue
from gpudash.memory_rows import fit_rows, memory_rows
from gpudash.serving_memory import kv_cache_gb, weights_gb
from gpudash.tables import DATA, read_columns
from gpudash.text import Text

HARDWARE = load_catalogue().hardware
DEPLOYMENTS = read_columns(DATA / "measured" / "deployments.csv")
MEASURED = read_columns(DATA / "measured" / "memory.csv")


def _rows(*rows, **common):
    """Rows given by some cells as columns of text."""
    names = {name for row in rows for name in row} | set(common)
    return {name: [str(row.get(name, common.get(name, ""))) for row in rows] for name in names}


def _verdicts(*rows, **common):
    return fit_rows(_rows(*rows, **common), HARDWARE).predicted_verdict


def test_public_statements_of_what_runs_are_agreed_with():
    verdicts = read_verdicts()
    serving, called_fits = verdicts.task == "inference", verdicts.predicted == "fits"
    assert verdicts.agrees[serving].mean() >= 0.92
    assert verdicts.agrees[~serving].mean() >= 0.80
    assert (called_fits & verdicts.is_refused).sum() <= 0.08 * verdicts.is_refused.sum()


def test_statements_that_no_choice_has_seen_are_agreed_with():
    verdicts = read_verdicts()
    for groups in (random_folds(len(verdicts.stated)), verdicts.source):
        assert held_out_verdicts(groups).agrees.mean() >= 0.92


def test_published_memory_is_predicted_and_seldom_too_low():
    measured = read_measured()
    predicted = memory_rows(MEASURED, HARDWARE).predicted
    ratio = predicted / measured.value_gb
    serving = measured.purpose == "serving"
    assert np.median(np.abs(ratio[serving] - 1)) <= 0.07
    assert np.mean(ratio[serving] < 0.9) <= 0.05
    assert np.median(np.abs(ratio[~serving] - 1)) <= 0.25


def test_the_90_percent_band_holds_about_that_share_of_the_published_figures_and_lies_between_the_others():
    values = np.array([float(cell) for cell in MEASURED["measured_gb"]])
    narrow, usual, wide = (memory_rows(MEASURED, HARDWARE, level=level) for level in SIGMAS)
    assert 0.87 <= np.mean((usual.low <= values) & (values <= usual.high)) <= 0.93
    assert np.all(wide.low < usual.low) and np.all(usual.low < narrow.low) and np.all(narrow.high < usual.high)


def test_every_row_with_a_card_has_a_verdict_and_every_row_a_sentence():
    found = fit_rows(DEPLOYMENTS, HARDWARE)
    for gpu, word, needed, because in zip(DEPLOYMENTS["gpu"], *vars(found).values()):
        assert (word in ("fits", "tight", "does_not_fit")) == bool(gpu)
        assert needed > 0
        assert all(Text(language).say(because) for language in ("en", "zh"))


def test_a_board_holds_more_bytes_than_its_label_and_an_engine_takes_nine_tenths_of_them():
    model = {"model": "llama-3.1-70b", "weights_precision": "fp8", "gpu": "H100 SXM", "context_tokens": 4096}
    assert _verdicts({"engine": "vLLM"}, {"engine": "TGI"}, **model) == ("tight", "tight")
    stated = "starts at utilisation 0.8"
    assert _verdicts({"engine": "vLLM", "statement_in_our_words": stated}, **model) == ("does_not_fit",)


def test_a_paged_engine_needs_room_for_one_request_and_others_for_all():
    row = {"model": "llama-2-7b", "weights_precision": "fp16", "gpu": "A100-40GB SXM", "context_tokens": 4096}
    busy = row | {"batch_or_concurrency": 64}
    assert _verdicts(busy | {"engine": "vLLM"}, busy | {"engine": "transformers"}) == ("fits", "does_not_fit")


def test_engines_from_before_chunked_prefill_need_the_whole_prompt_at_once():
    row = {"model": "llama-3.1-8b", "weights_precision": "fp16", "gpu": "RTX 3090", "engine": "vLLM"}
    row |= {"context_tokens": 29000, "batch_or_concurrency": 1}
    assert _verdicts(row | {"as_of": "2024-12"}) == ("does_not_fit",)
    assert _verdicts(row | {"as_of": "2026-01"}) == ("tight",)


def test_a_pipeline_is_as_full_as_its_fullest_stage():
    row = {"model": "llama-3.1-8b", "weights_precision": "bf16", "engine": "vLLM", "gpu": "L4", "tensor_parallel": 1}
    even, uneven = fit_rows(_rows({"gpu_count": 4}, {"gpu_count": 5}, **row), HARDWARE).predicted_gb
    weights = weights_gb("llama-3.1-8b", "bf16")
    assert even - uneven == pytest.approx(weights * 8 / 32 - weights * 7 / 32, rel=0.1)


def test_words_of_the_row_say_how_the_work_is_spread_where_no_column_does():
    row = {"task": "full", "model": "llama-2-7b", "weights_precision": "bf16", "gpu": "A100-80GB SXM", "gpu_count": 8}
    said = ("plain data parallel", "ZeRO-2", "FSDP", "ZeRO-3 with CPU offload")
    needed = fit_rows(_rows(*({"statement_in_our_words": words} for words in said), **row), HARDWARE).predicted_gb
    assert list(needed) == sorted(needed, reverse=True)
    column = _rows({"zero_stage": "3", "statement_in_our_words": "ZeRO-2"}, **row)
    assert fit_rows(column, HARDWARE).predicted_gb[0] == pytest.approx(needed[2])


def test_early_versions_of_fsdp_kept_the_frozen_weights_whole():
    row = {"task": "lora", "model": "llama-2-7b", "weights_precision": "bf16", "gpu_count": 8, "zero_stage": "FSDP"}
    early, late = fit_rows(_rows({"as_of": "2023-10"}, {"as_of": "2024-10"}, **row), HARDWARE).predicted_gb
    assert early - late == pytest.approx(weights_gb("llama-2-7b", "bf16") * (7 / 8 - 2 / 32), rel=0.02)


def test_a_quantised_base_lies_whole_on_every_card_unless_it_is_sharded():
    row = {"task": "qlora", "model": "llama-3-70b", "weights_precision": "int4", "gpu": "A10G", "gpu_count": 4}
    row |= {"context_tokens": 1024, "batch_or_concurrency": 1}
    assert _verdicts({"engine": "LLaMA-Factory"}, {"engine": "torchtune"}, **row) == ("does_not_fit", "fits")


def test_a_measured_cache_that_grew_is_held_twice():
    row = {"task": "inference", "model": "qwen-7b", "precision": "bf16", "batch": 16, "seq_len": 1024, "gpu_count": 1}
    kinds = ({"memory_kind": "GPU memory used, bf16 KV"}, {"memory_kind": "GPU memory used, int8 KV"})
    sixteen, eight = memory_rows(_rows(*kinds, **row), HARDWARE).predicted
    assert sixteen - eight == pytest.approx(kv_cache_gb("qwen-7b", 1024, 16))


def test_the_geometry_of_the_file_wins_over_the_preset():
    row = {"task": "inference", "model": "llama-3-8b", "precision": "bf16", "batch": 1, "seq_len": 8192}
    own, preset = memory_rows(_rows({"kv_heads": 32}, {}, **row), HARDWARE).predicted
    assert own - preset == pytest.approx(3 * kv_cache_gb("llama-3-8b", 8192))


def test_an_unknown_model_is_estimated_from_its_size_with_the_widest_band():
    rows = _rows({"model": "nobodys-9b"}, {"model": "llama-3-8b"}, params_b=9, precision="bf16", task="inference")
    found = memory_rows(rows, HARDWARE)
    assert found.predicted[0] == pytest.approx(found.predicted[1], rel=0.05)
    assert found.high[0] / found.predicted[0] > found.high[1] / found.predicted[1]


@pytest.mark.parametrize(
    "cells",
    [
        {"model": "nobodys-model"},
        {"params_b": "many"},
        {"gpu": "Voodoo 2"},
        {"gpu_count": "0"},
        {"gpu_count": "0.5"},
        {"tensor_parallel": "-2"},
        {"layers": "1e400"},
        {"context_tokens": "-5"},
        {"weights_precision": "int3.5"},
        {"task": "full", "weights_precision": "awq_int4"},
        {"task": "full", "gpu_count": "6", "tensor_parallel": "4"},
    ],
)
def test_a_row_that_cannot_be_predicted_says_why_and_leaves_the_others_alone(cells):
    row = {"task": "inference", "model": "llama-3-8b", "weights_precision": "bf16", "gpu": "L40S", "engine": "vLLM"}
    found = fit_rows(_rows(row | cells, row), HARDWARE)
    assert found.predicted_verdict == ("", "fits")
    assert np.isnan(found.predicted_gb[0])
    assert all(Text(language).say(found.because[0]) for language in ("en", "zh"))


def test_a_table_without_rows_gives_no_rows():
    assert fit_rows(_rows(model=""), HARDWARE).predicted_verdict == ()
    assert len(memory_rows(_rows(model=""), HARDWARE).predicted) == 0


def test_more_batch_context_or_parameters_never_need_less_and_more_cards_never_more_each():
    base = {"model": "m", "params_b": 30, "weights_precision": "bf16", "gpu": "H100 SXM", "engine": "transformers"}
    base |= {"context_tokens": 4096, "batch_or_concurrency": 4, "gpu_count": 2}
    steps = [("context_tokens", (1, 4096, 131072)), ("batch_or_concurrency", (1, 8, 64)), ("params_b", (1, 30, 300))]
    for task in ("inference", "full", "lora", "qlora"):
        for name, values in steps:
            needed = fit_rows(_rows(*({**base, "task": task, name: value} for value in values)), HARDWARE).predicted_gb
            assert list(needed) == sorted(needed)
        spread = fit_rows(_rows(*({**base, "task": task, "gpu_count": n} for n in (1, 2, 8, 64))), HARDWARE)
        assert list(spread.predicted_gb) == sorted(spread.predicted_gb, reverse=True)
