"""The one place for hours, bytes and their conversions.

A year has 8,760 hours and a month a twelfth of that, 730, whatever the calendar says: prices per month and per year are
compared on the same footing. A leap year's extra day (24 h, 0.27 %) is not billed, and a week has 168 hours also where
the clocks change: the 23-hour day of spring and the 25-hour day of autumn cancel over a year. Every page says so.
"""

HOURS_PER_YEAR = 8760
MONTHS_PER_YEAR = 12
HOURS_PER_MONTH = HOURS_PER_YEAR / MONTHS_PER_YEAR  # 730
HOURS_PER_WEEK = 168
HOURS_PER_DAY = 24
SECONDS_PER_HOUR = 3600
MINUTES_PER_HOUR = 60
MS_PER_S = 1000
W_PER_KW = 1000
GRAMS_PER_KG = 1000

BYTES_PER_GB = 10**9
BYTES_PER_GIB = 2**30
BYTES_PER_MIB = 2**20
FLOPS_PER_TFLOPS = 10**12
PARAMS_PER_B = 10**9
TOKENS_PER_MILLION = 10**6


def gib(gb):
    """Gigabytes (10⁹ bytes) as gibibytes (2³⁰ bytes)."""
    return gb * BYTES_PER_GB / BYTES_PER_GIB


def gb_of_mib(mib):
    """Mebibytes (2²⁰ bytes, what a driver reports) as gigabytes (10⁹ bytes)."""
    return mib * BYTES_PER_MIB / BYTES_PER_GB
