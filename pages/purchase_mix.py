"""Purchase mix: the cheapest split between committing, paying as you go and spot."""

import ui
from gpudash.figures import mixed_fleet, prompt_routing, purchase_mix

page = ui.begin("purchase_mix")
page.title()
page.fields("purchase.terms", "purchase.spot_fraction", columns=2)
page.more(
    "more",
    "purchase.checkpoint_minutes",
    "purchase.restart_minutes",
    "purchase.interruption_fraction_per_month",
    "purchase.commitment_cap_servers",
    "purchase.upfront_fraction",
    "purchase.resale_fraction",
)
page.figure(purchase_mix.screening_curve)
page.explain("reading")
page.side_by_side(lambda: page.figure(purchase_mix.ways_in_money), lambda: page.table(purchase_mix.break_even))
page.sentences(purchase_mix.savings_plans)
page.sentences(purchase_mix.spot_terms)
page.listed("section_published", purchase_mix.published_split)
page.folded("mixed_fleet", mixed_fleet.side_by_side)
page.section("section_prompts")
page.fields("traffic.long_prompts_fraction", "workload.long_context_tokens", columns=2)
page.sentences(prompt_routing.routing)
page.section("section_contracts")
page.rows("purchase.contracts")
page.section("section_discounts")
page.rows("purchase.negotiated_discounts")
page.section("section_savings_plans")
page.rows("purchase.savings_plans")
