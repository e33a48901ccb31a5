"""Recommendation: the way to the answer, who fell and why, and what the published trees say."""

import ui
from gpudash.figures import ecosystem, fleets, overview, recommendation, slices
from gpudash.fleets import search_fleets

page = ui.begin("recommendation")
page.title()
page.card(overview.answer)
page.gradually(search_fleets, fleets.worth_saying, fleets.details)
page.why_not(recommendation.another_gpu)
page.more(
    "more",
    "requirements.providers_in",
    "requirements.providers_out",
    "requirements.gpus_in",
    "requirements.compliance",
    "requirements.framework",
    "requirements.framework_version",
    "requirements.cuda_version",
    "requirements.minimum_sla_fraction",
    "requirements.minimum_bandwidth_gb_per_s",
    "requirements.minimum_fp16_tflops",
    "requirements.pretrained_models",
    "requirements.maximum_price_age_days",
    "requirements.nvlink",
    "requirements.kubernetes",
    "requirements.hybrid_cloud",
    "requirements.monitoring_api",
    "requirements.green_certification",
    "requirements.marketplaces",
    "requirements.sold_out_offers",
    "requirements.mainland_china",
)
page.folded_table(ecosystem.cards)
page.listed("section_warnings", overview.warnings)
page.section("section_published")
page.sentences(recommendation.agreement)
page.section("section_tree")
fell = recommendation.fallen_steps, recommendation.fallen_at
page.tabs(
    ours=lambda: page.tree(recommendation.our_tree, recommendation.OURS, *fell),
    five_steps=lambda: page.tree(recommendation.five_steps, recommendation.FIVE_STEPS, *fell),
    five_stages=lambda: page.tree(recommendation.five_stages, recommendation.FIVE_STAGES, *fell),
)
page.folded_table(recommendation.steps)
page.section("section_fallen")
page.sentences(overview.most_common_reasons)
page.folded_table(recommendation.fallen)
page.section("section_alternatives")
page.table(recommendation.alternatives)
if page.show(slices.slices):
    page.folded_table(slices.slices)
page.work()
