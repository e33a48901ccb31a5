"""Every file that a brief can be passed on as, by the ending of its name."""

import json
from collections.abc import Callable

from gpudash.brief import Brief, brief_json
from gpudash.documents import write_bytes
from gpudash.errors import GpudashError
from gpudash.focus import focus_csv
from gpudash.kubernetes import kubernetes
from gpudash.launch import dstack, skypilot, terraform
from gpudash.markdown import brief_markdown
from gpudash.pdf import brief_pdf
from gpudash.renewals import calendar
from gpudash.spreadsheet import brief_csv, brief_xlsx


def _json(brief: Brief) -> bytes:
    return (json.dumps(brief_json(brief), ensure_ascii=False, allow_nan=False, indent=2) + "\n").encode("utf-8")


Maker = Callable[[Brief], bytes]

# To read, always possible.
DOCUMENTS: dict[str, Maker] = {
    ".pdf": brief_pdf,
    ".xlsx": brief_xlsx,
    ".csv": brief_csv,
    ".md": brief_markdown,
    ".json": _json,
}
# To act on; refused with a sentence where there is nothing to run.
ACTIONS: dict[str, Maker] = {
    ".focus.csv": focus_csv,
    ".kubernetes.yaml": kubernetes,
    ".sky.yaml": skypilot,
    ".dstack.yml": dstack,
    ".tfvars": terraform,
    ".ics": calendar,
}
FILES = DOCUMENTS | ACTIONS


def maker(name: str) -> Maker:
    """Who makes the file of this name; raises GpudashError for an ending that none of them has."""
    ending = max((ending for ending in FILES if name.lower().endswith(ending)), key=len, default=None)
    if ending is None:
        raise GpudashError("export_files.unknown_ending", name=name[-80:], allowed=tuple(FILES))
    return FILES[ending]


def write_brief(brief: Brief, name: str) -> int:
    """Write the file of this name; answers with its size in bytes."""
    content = maker(name)(brief)
    write_bytes(name, content)
    return len(content)
