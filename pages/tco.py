"""Total cost: where the money goes, month by month, and from the list price to what is paid."""

import ui
from gpudash.figures import derivation, overview, own_or_api, owned, owned_count, tco, training_network

page = ui.begin("tco")
page.title()
page.metrics(overview.headline, derivation.headline)
page.more(
    "more",
    "finance.currency",
    "finance.units_per_usd",
    "finance.discount_rate_fraction",
    "budget.currency",
    "budget.ceiling_usd_per_hour",
    "finance.tax_fraction",
    "finance.support_plan",
    "finance.staff_fte",
    "finance.staff_usd_per_year",
    "finance.credit_usd",
    "finance.credit_share_fraction",
    "finance.credit_until_month",
    "purchase.resale_fraction",
    "finance.migration_usd",
    "budget.hard",
)
page.more(
    "more_own",
    "finance.owned_servers",
    "finance.owned_gpu",
    "finance.owned_gpus_per_server",
    "finance.owned_country",
    "finance.owned_server_usd",
    "finance.residual_fraction",
    "finance.life_years",
    "finance.after_life",
    "finance.pue",
    "finance.electricity_usd_per_kwh",
    "finance.hosting_usd_per_kw_month",
    "finance.owned_staff_fte",
    "finance.maintenance_fraction_per_year",
)
page.figure(tco.monthly_cost)
page.side_by_side(lambda: page.figure(overview.cumulative_cost), lambda: page.figure(tco.savings))
page.section("section_own", owned.hybrid)
page.figure(owned.cumulative)
page.sentences(owned.hybrid)
if page.show(owned.own_months):
    page.folded_table(owned.own_months)
page.folded("own_count", owned_count.best_count, owned_count.counts)
page.folded("own_or_api", own_or_api.comparison, own_or_api.hosted)
page.explain("conventions")
page.folded_table(tco.monthly_table)
page.folded_table(tco.side_by_side)
if page.show(training_network.networks):
    page.folded_table(training_network.networks)
if page.show(training_network.waits):
    page.folded_table(training_network.waits)
