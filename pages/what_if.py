"""What if: at which values the answer changes, how sure it is, and what the published checklist would cost."""

import ui
from gpudash.figures import overview, what_if
from gpudash.flips import search_flips
from gpudash.uncertainty import draw

page = ui.begin("what_if")
page.title()
page.card(overview.answer)
page.section("section_flips")
page.gradually(search_flips, what_if.flips, what_if.closeness, what_if.unmoved)
page.section("section_uncertainty")
page.gradually(draw, what_if.sureness, what_if.bands, what_if.tornado)
page.folded_table(what_if.factors)
page.section("section_checklist")
page.explain("checklist_help")
page.table(what_if.checklist)
page.more(
    "more",
    "requirements.minimum_fp16_tflops",
    "requirements.minimum_bandwidth_gb_per_s",
    "requirements.minimum_sla_fraction",
    "requirements.pretrained_models",
    "requirements.nvlink",
    "requirements.monitoring_api",
    "requirements.kubernetes",
    "requirements.hybrid_cloud",
    "requirements.green_certification",
)
page.work()
