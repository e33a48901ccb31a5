"""gpudash: which GPU server, from whom, how many, bought how, at what total cost."""

__version__ = "0.1.0"
