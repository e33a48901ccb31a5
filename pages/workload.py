"""Workload: what is to be run, what it needs of a card, how fast it is, how many servers over the week."""

import ui
from gpudash.figures import workload

page = ui.begin("workload")
page.title()
page.more(
    "more_model",
    "workload.params_b",
    "workload.active_params_fraction",
    "workload.vocabulary",
    "workload.layers",
    "workload.hidden",
    "workload.layers_with_kv_cache",
    "workload.heads",
    "workload.kv_heads",
    "workload.head_dim",
    "workload.attention",
    "workload.window_tokens",
    "workload.global_layers",
    "workload.latent_values",
)
if page.scenario.workload.is_training:
    page.more(
        "more_training", "workload.optimizer", "workload.zero_stage", "workload.recomputation", "workload.micro_batch"
    )
else:
    page.more(
        "more_engine",
        "workload.engine",
        "workload.kv_precision",
        "workload.kv_layout",
        "workload.buffer_gb",
        "workload.state_gb",
    )
    page.more(
        "more_traffic",
        "traffic.burst_factor",
        "traffic.growth_fraction_per_month",
        "traffic.utc_offset_hours",
        "traffic.prefix_cache_hit_fraction",
        "traffic.minimum_replicas",
        "traffic.target_utilisation_fraction",
        "traffic.scaling_delay_minutes",
        "traffic.cold_start_minutes",
        "traffic.follows_demand",
        "traffic.scale_to_zero",
        "traffic.hourly_shape",
    )
page.section("section_memory")
page.figure(workload.memory_per_gpu)
page.folded_table(workload.verdicts)
page.section("section_speed", workload.speed, workload.run_time)
page.figure(workload.run_time)
if page.show(workload.speed):
    page.figure(workload.token_time)
    page.figure(workload.speed)
    page.folded_table(workload.nearest)
page.figure(workload.cost_against_speed)
page.section("section_week", workload.week)
page.figure(workload.week)
