"""Random tests are the same on every machine and on every run, and never fail for being slow."""

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")
