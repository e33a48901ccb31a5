"""Predicted against measured as one SVG of small log-log panels, a dot per row."""

from dataclasses import dataclass
from html import escape

import numpy as np

SIDE, GAP, COLUMNS = 210, 46, 4
INK, QUIET, DOT = "#22262b", "#9aa1a9", "#2a6f97"
WITHIN = 1.25  # the dashed lines


@dataclass(frozen=True)
class Cloud:
    """The rows of one panel; both axes in the same unit."""

    title: str
    unit: str
    measured: np.ndarray
    predicted: np.ndarray


def svg(clouds: list[Cloud]) -> str:
    """Panels in rows of four; the line is where both agree, dashed a quarter more and less."""
    rows = -(-len(clouds) // COLUMNS)
    width, height = COLUMNS * (SIDE + GAP) + GAP, rows * (SIDE + 2 * GAP)
    panels = [_panel(cloud, *divmod(index, COLUMNS)) for index, cloud in enumerate(clouds)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="11" fill="{INK}"><rect width="100%" height="100%" fill="#fff"/>'
        f"{''.join(panels)}</svg>\n"
    )


def _panel(cloud: Cloud, row: int, column: int) -> str:
    values = np.log10(np.concatenate([cloud.measured, cloud.predicted]))
    low, high = np.floor(values.min()), np.ceil(values.max())

    def at(logs):
        return (np.clip(logs, low, high) - low) / (high - low) * SIDE

    x, y = at(np.log10(cloud.measured)), SIDE - at(np.log10(cloud.predicted))
    dots = "".join(f"M{a:.0f} {b:.0f}h0" for a, b in sorted({(round(a), round(b)) for a, b in zip(x, y)}))
    shift = float(np.log10(WITHIN) / (high - low) * SIDE)
    parts = [
        f'<text x="0" y="-22" font-weight="bold">{escape(cloud.title)}</text>',
        f'<text x="0" y="-8" fill="{INK}">{len(cloud.measured)} rows, {escape(cloud.unit)}</text>',
        f'<path d="M0 0V{SIDE}H{SIDE}" fill="none" stroke="{QUIET}"/>',
        f'<path d="M0 {SIDE}L{SIDE} 0" stroke="{INK}"/>',
        f'<path d="M{shift:.1f} {SIDE}L{SIDE} {shift:.1f}M0 {SIDE - shift:.1f}L{SIDE - shift:.1f} 0" stroke="{QUIET}" '
        'stroke-dasharray="4 3"/>',
        f'<path d="{dots}" stroke="{DOT}" stroke-width="3" stroke-linecap="round" stroke-opacity=".45"/>',
    ]
    for power in range(int(low), int(high) + 1):
        place, label = at(power), f"{10.0**power:g}"
        parts.append(f'<text x="{place:.0f}" y="{SIDE + 14}" text-anchor="middle" font-size="9">{label}</text>')
        parts.append(f'<text x="-4" y="{SIDE - place + 3:.0f}" text-anchor="end" font-size="9">{label}</text>')
    left, top = GAP + column * (SIDE + GAP), GAP + row * (SIDE + 2 * GAP)
    return f'<g transform="translate({left} {top})">{"".join(parts)}</g>'
