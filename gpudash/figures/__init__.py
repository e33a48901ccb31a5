"""What is shown of a Result: functions `(result, text)` that return a chart, a table or sentences.

They reshape and word what `evaluate` found and compute nothing of their own, except the exchange into the currency
that the scenario asks for. None means that there is nothing to show.
"""
