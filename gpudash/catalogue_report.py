"""What a refresh changed, as Markdown for the pull request that proposes the new snapshot."""

from collections import Counter

from gpudash.catalogue_diff import CHANGES, CatalogueDiff
from gpudash.catalogue_refresh import FeedReport, RefreshReport
from gpudash.text import Text

_REASONS = 8  # of one feed; the whole list is in the command's JSON


def markdown(report: RefreshReport, text: Text) -> str:
    """The feeds, the changes by provider, GPU and way of buying, and what was left out; names are never markup."""
    lines = [f"# {text('catalogue_refresh.title', base=report.base, snapshot=report.snapshot or '-')}", ""]
    lines += _table(
        [text(f"catalogue_refresh.column.{name}") for name in ("feed", "updated", "added", "not_listed", "oldest")],
        [_feed_cells(feed, text) for feed in report.feeds],
    )
    if report.diff:
        lines += ["", f"## {text('catalogue_refresh.changes')}", "", *_changes(report.diff, text)]
    faults = [*report.put_back, *report.faults]
    if faults:
        lines += [
            "",
            f"## {text('catalogue_refresh.did_not_pass')}",
            "",
            *(f"- {_code(text.say(fault))}" for fault in faults),
        ]
    left_out = [(feed, _reasons(feed, text)) for feed in report.feeds if feed.refused]
    if left_out:
        lines += ["", f"## {text('catalogue_refresh.left_out')}"]
    for feed, reasons in left_out:
        lines += ["", f"### {feed.feed}", "", *reasons]
    return "\n".join(lines) + "\n"


def _feed_cells(feed: FeedReport, text: Text) -> list[str]:
    if feed.failed:
        return [feed.feed, _code(text.say(feed.failed)), "", "", feed.oldest_as_of]
    return [feed.feed, str(feed.updated), str(feed.added), str(len(feed.not_listed)), feed.oldest_as_of]


def _changes(changes: CatalogueDiff, text: Text) -> list[str]:
    heading = [text(f"catalogue_refresh.column.{name}") for name in ("provider", "gpu", "way")]
    heading += [text(f"catalogue_diff.change.{change}") for change in CHANGES]
    heading.append(text("catalogue_refresh.column.median_change"))
    rows = []
    for count in changes.counts():
        median = count.median_change_fraction
        rows.append(
            [_code(count.provider), _code(count.gpu), text(f"common.way.{count.way}")]
            + [str(getattr(count, change) or "") for change in CHANGES]
            + ["" if median is None else f"{median:+.1%}"]
        )
    return _table(heading, rows)


def _reasons(feed: FeedReport, text: Text) -> list[str]:
    """The sentences for which rows were left out, the most frequent first, each with its number of rows."""
    counted = Counter(text.say(row.because) for row in feed.refused).most_common()
    lines = [f"- {count} × {_code(sentence)}" for sentence, count in counted[:_REASONS]]
    return lines + ["- …"] * (len(counted) > _REASONS)


def _table(heading: list[str], rows: list[list[str]]) -> list[str]:
    return [_row(heading), _row(["---"] * len(heading)), *map(_row, rows)]


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _code(content: str) -> str:
    """Text of others as a code span: no markup, no links, no mentions, no new cell."""
    return "`" + content.replace("`", "'").replace("|", "¦").replace("\n", " ") + "`"
