"""Evidence: the weakest numbers behind the answer, all of them with their sources, and every offer that fell."""

import ui
from gpudash.figures import evidence

page = ui.begin("evidence")
page.title()
page.section("section_weakest", evidence.weakest)
page.printed(evidence.weakest)
page.section("section_prices")
page.fields("catalogue.snapshot")
page.sentences(evidence.snapshot)
page.section("section_ledger")
page.table(evidence.ledger)
page.section("section_rejected")
page.folded_table(evidence.rejected)
