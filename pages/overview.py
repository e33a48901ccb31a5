"""Overview: the answer in one sentence, four numbers, how it is bought, what would change it, what stands beside it."""

import ui
from gpudash.figures import derivation, overview
from gpudash.flips import search_first_flips

page = ui.begin("overview")
page.headings(overview.title)
page.card(overview.answer, overview.old_price)
page.notice(overview.strongest_warning)
page.metrics(overview.headline, derivation.headline)
page.on_request("section_change", search_first_flips, overview.nearest_flips)
page.side_by_side(
    lambda: (
        page.figure(overview.purchase_split),
        page.listed("section_warnings", overview.more_warnings),
    ),
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
page.work()
