"""Claims: what the two source articles say, checked one by one, and their matrix of providers beside ours."""

import ui
from gpudash.figures import claims

page = ui.begin("claims_page")
page.title()
page.sentences(claims.verdicts)
page.filtered_table(claims.audit, "verdict", "article")
page.section("section_worked")
page.explain("worked_help")
page.worked_examples()
page.table(claims.worked)
page.section("section_matrix")
page.table(claims.article_matrix_table)
page.sentences(claims.contradictions)
page.folded_table(claims.providers)
