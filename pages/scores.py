"""Scores: points by criterion, weights to move, and how far each may move before another candidate wins."""

import ui
from gpudash.figures import robustness, scores

page = ui.begin("scores_page")
page.title()
page.weights(scores.weights)
if not page.answered:
    page.say("nobody")
page.figure(scores.points)
page.section("section_robust", robustness.firmness)
page.sentences(robustness.firmness)
page.figure(scores.weight_intervals)
page.figure(robustness.first_share)
page.figure(robustness.triangle)
page.table(robustness.methods)
page.section("section_frameworks", scores.frameworks)
page.table(scores.frameworks)
page.table(scores.criteria)
page.listed("section_notes", scores.notes)
