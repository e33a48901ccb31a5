"""How long a request waits for a place at a busy server, and how busy a server may be for a given wait."""

import numpy as np

HALVINGS = 30  # of the interval of utilisations that is searched: exact to a billionth


def queue_wait_s(slots, service_s, utilisation_fraction):
    """Mean wait before a request gets one of `slots` places, arrivals at random.

    u^(sqrt(2 (c + 1)) - 1) / (c (1 - u)) × service time; infinite when fully utilised.
    Source: Sakasegawa (1977), "An approximation formula Lq = a·b^ρ/(1-ρ)", Ann. Inst. Stat. Math. 29, for M/M/c.
    """
    utilisation = np.asarray(utilisation_fraction, dtype=float)
    slots = np.maximum(slots, 1)
    full = utilisation >= 1
    idle = np.where(full, 1.0, 1 - utilisation)
    wait_s = utilisation ** (np.sqrt(2 * (slots + 1)) - 1) / (slots * idle) * service_s
    return np.where(full, np.inf, wait_s)


def highest_utilisation(slots, service_s, wait_s, most_fraction):
    """The highest utilisation, at most `most_fraction`, at which the mean wait is at most `wait_s`.

    The wait grows with the utilisation, so the interval is halved; 0 where no wait at all is allowed.
    """
    low, high = np.zeros(np.shape(wait_s)), np.full(np.shape(wait_s), float(most_fraction))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        quick = queue_wait_s(slots, service_s, middle) <= wait_s
        low, high = np.where(quick, middle, low), np.where(quick, high, middle)
    return low
