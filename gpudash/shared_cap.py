"""One cap on commitments over two stacks of servers of different offers: divided once, so that both cost least.

Each stack keeps its part of the cap over the whole horizon; all divisions are compared. A part that moved from one to
the other from year to year could be cheaper still, but nobody would plan so.
"""

import numpy as np

from gpudash.layers import Layers
from gpudash.purchase_mix import server_usd

MOST_DIVISIONS = 200  # ways to divide the cap; all of them up to here, then evenly spread


def first_parts(cap_servers: int) -> np.ndarray:
    """What the first of two stacks may get of a cap: 0 to all of it; the second gets the rest."""
    count = min(cap_servers + 1, MOST_DIVISIONS)
    return np.rint(np.linspace(0, cap_servers, count)).astype(int)


def usd_by_cap(demand_layers: Layers, caps_servers: np.ndarray, **terms) -> np.ndarray:
    """What the cheapest mix costs under each of several caps on the servers committed at once, one entry per cap.

    The lowest layers are those worth committing, so each cap takes the cheapest purchase of the layers below it and
    pays as it goes above. `terms`: prices and `resale_fraction` of `server_usd`; infinite where nothing is sold.
    """
    worth, as_you_go = (server_usd(demand_layers, commitment_cap_servers=cap, **terms) for cap in (None, 0))
    below = np.concatenate(([0.0], worth.cumsum()))
    above = np.append(as_you_go[::-1].cumsum()[::-1], 0.0)
    given = np.minimum(caps_servers, len(worth))
    return below[given] + above[given]
