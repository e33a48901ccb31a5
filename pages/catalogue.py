"""Catalogue: what every GPU costs where, how old each price is, and what speaks against it."""

import ui
from gpudash.figures import catalogue, evidence, price_dates

page = ui.begin("catalogue_page")
page.title()
page.sentences(evidence.snapshot)
page.own_prices()
page.offers(catalogue.prices, catalogue.offers)
page.section("section_own_terms")
page.fields("requirements.offers_out")
page.rows("requirements.quotas")
page.section("section_changes", catalogue.changes)
page.table(catalogue.changes)
page.folded("dates", price_dates.state, price_dates.history, price_dates.answers)
