"""Storage: the data sets, and the cheapest tier that is fast enough for each."""

import ui
from gpudash.figures import storage

page = ui.begin("storage_page")
page.title()
page.section("section_datasets")
page.rows("storage.datasets")
page.fields("storage.egress_gb_per_month", columns=3)
if not page.scenario.storage.datasets:
    page.say("nothing")
page.figure(storage.before_and_after)
page.explain("reading")
page.table(storage.placements)
page.sentences(storage.egress)
