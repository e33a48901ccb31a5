"""A calendar file: the stages, the end of each commitment with a reminder ahead, the yearly hardware review."""

from dataclasses import dataclass
from datetime import date, timedelta
from hashlib import sha256

from gpudash.brief import Brief
from gpudash.roadmap import commitments, reviews, roadmap_rule, stages

_LINE_BYTES = 75  # RFC 5545, section 3.1


@dataclass(frozen=True)
class _Event:
    day: date
    title: str
    notice_days: int = 0
    every_months: int = 0
    times: int = 1


def calendar(brief: Brief) -> bytes:
    """All dates of the plan as whole-day events (RFC 5545); the same brief gives the same file."""
    stamp = f"{brief.result.snapshot.replace('-', '')}T000000Z"
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", f"PRODID:-//gpudash//{brief.text.language}", "CALSCALE:GREGORIAN"]
    for event in _events(brief):
        lines += _lines(event, brief, stamp)
    return "".join(_folded(line) + "\r\n" for line in [*lines, "END:VCALENDAR"]).encode("utf-8")


def _events(brief: Brief) -> list[_Event]:
    result, text, found = brief.result, brief.text, []
    for stage in stages(result):
        found.append(_Event(stage.starts, text("renewals.stage_starts", stage=text(f"brief.stage_{stage.name}"))))
    notice = roadmap_rule("renewal_notice_days")
    for item in commitments(result):
        said = {"servers": item.servers, "way": text(f"common.way.{item.kind}")}
        if item.kind == "monthly":
            title, months = text("renewals.subscription", **said), _months_between(item.starts, item.ends)
            found.append(_Event(item.starts, title, roadmap_rule("monthly_notice_days"), every_months=1, times=months))
            continue
        found.append(_Event(item.ends, text("renewals.renewal", **said), notice))
        reminder = text("renewals.reminder", days=notice, ends=text.date(item.ends.isoformat()), **said)
        found.append(_Event(item.ends - timedelta(days=notice), reminder))
    return found + [_Event(day, text("renewals.review")) for day in reviews(result)]


def _months_between(first: date, last: date) -> int:
    return (last.year - first.year) * 12 + last.month - first.month


def _lines(event: _Event, brief: Brief, stamp: str) -> list[str]:
    digest = sha256(f"{event.day}{event.title}{brief.link}".encode()).hexdigest()[:32]
    lines = [
        "BEGIN:VEVENT",
        f"UID:{digest}@gpudash",
        f"DTSTAMP:{stamp}",
        f"DTSTART;VALUE=DATE:{event.day:%Y%m%d}",
        f"DTEND;VALUE=DATE:{event.day + timedelta(days=1):%Y%m%d}",
        f"SUMMARY:{_escaped(event.title)}",
        f"DESCRIPTION:{_escaped(brief.title)}\\n{_escaped(brief.link)}",
        "TRANSP:TRANSPARENT",
    ]
    if event.every_months:
        lines.append(f"RRULE:FREQ=MONTHLY;INTERVAL={event.every_months};COUNT={event.times}")
    if event.notice_days:
        lines += ["BEGIN:VALARM", "ACTION:DISPLAY", f"TRIGGER:-P{event.notice_days}D"]
        lines += [f"DESCRIPTION:{_escaped(event.title)}", "END:VALARM"]
    return [*lines, "END:VEVENT"]


def _escaped(text: str) -> str:
    """Text of a calendar property: no sign of it can end the line or begin another value."""
    text = "".join(sign if sign.isprintable() else " " for sign in text)
    return text.replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,")


def _folded(line: str) -> str:
    """A long line continued on lines that begin with a space, never inside a sign."""
    rows, row = [], ""
    for sign in line:
        if len((row + sign).encode()) > _LINE_BYTES - 1:
            rows.append(row)
            row = ""
        row += sign
    return "\r\n ".join([*rows, row])
