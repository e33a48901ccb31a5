"""Brief: everything that management reads, on one page; nothing to operate, everything to take along."""

import ui
from gpudash.figures import brief, overview

page = ui.begin("brief_page")
page.title()
page.printable()
page.documents()
page.headings(overview.title)
page.card(overview.answer)
page.metrics(overview.headline)
page.side_by_side(
    lambda: page.figure(overview.cumulative_cost, on_paper=True),
    lambda: page.figure(overview.purchase_split, on_paper=True),
)
page.printed(brief.alternatives)
page.printed(brief.years)
page.printed(brief.owned)
page.printed(brief.path)
page.side_by_side(
    lambda: page.listed("section_would_change", brief.would_change),
    lambda: page.listed("section_risks", brief.risks),
)
page.printed(brief.roadmap)
page.printed(brief.kpis)
page.actions()
page.folded_table(brief.assumptions)
page.pass_on()
