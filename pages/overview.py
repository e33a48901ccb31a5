"""Overview: the answer on one screen, how it is bought, what would change it, what stands beside it."""

import ui
from gpudash.figures import derivation, fleets, overview
from gpudash.flips import search_first_flips

page = ui.begin("overview")
page.opening(overview.title)
page.card(overview.answer, overview.old_price)
page.metrics(overview.headline, derivation.headline)
page.side_by_side(
    lambda: (
        page.figure(overview.purchase_split),
        page.notice(overview.strongest_warning),
        page.quiet(overview.sieve),
    ),
    lambda: page.figure(overview.cumulative_cost),
)
page.side_by_side(
    lambda: (
        page.section("section_change"),
        page.gradually(search_first_flips, overview.nearest_flips),
    ),
    lambda: page.listed("section_beside", overview.runner_up),
)
page.side_by_side(
    lambda: page.folded("further", overview.more_warnings, overview.less_precise, fleets.beside_the_answer),
    lambda: page.more("more", "about.name", "about.author", "about.paid_usd_per_month", "about.notes", columns=2),
)
page.work()
