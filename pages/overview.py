"""Overview: the answer in one sentence, four numbers, how it is bought, what stands beside it."""

import ui
from gpudash.figures import overview

page = ui.begin("overview")
page.headings(overview.title)
page.card(overview.answer)
page.metrics(overview.headline)
page.side_by_side(
    lambda: (page.figure(overview.purchase_split), page.listed("section_warnings", overview.strongest_warnings)),
    lambda: page.figure(overview.cumulative_cost),
)
page.side_by_side(
    lambda: page.figure(overview.funnel),
    lambda: (
        page.listed("section_beside", overview.runner_up),
        page.listed("section_lower", overview.lower_precision),
    ),
)
page.link()
page.more("more", "about.name", "about.author", "about.paid_usd_per_month", "about.notes", columns=2)
