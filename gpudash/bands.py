"""Bands around a prediction: where so many of a hundred measurements lie, if log(measured / predicted) is normal."""

import numpy as np

# Standard deviations from the middle to the ends of the band that holds so much: quantiles of the normal distribution.
SIGMAS = {0.8: 1.2815515655446004, 0.9: 1.6448536269514722, 0.95: 1.959963984540054}


def band_factor(sigma_log, level: float = 0.9):
    """By how much a band of this level stretches a prediction: exp(quantile × sigma_log), both ways."""
    return np.exp(SIGMAS[level] * sigma_log)


def at_levels(low_90: float, high_90: float) -> dict[float, tuple[float, float]]:
    """The ends of the 80, 90 and 95 % bands, as factors, from those of the 90 % band."""
    shares = {level: sigmas / SIGMAS[0.9] for level, sigmas in SIGMAS.items()}
    return {level: (low_90**share, high_90**share) for level, share in shares.items()}
