"""Compare: the inputs beside other scenarios, in words, in numbers and on the same axes."""

import ui
from gpudash.figures import compare

page = ui.begin("compare")
page.title()
page.compared(compare.in_words, compare.mean_month, compare.answers, compare.inputs, compare.months)
