"""Which cards run the version of a framework that is asked for, with which builds, and who says so."""

import numpy as np

from gpudash.ecosystem import compatibility, versions
from gpudash.figures.table import Table, table
from gpudash.result import Result
from gpudash.text import Text

USUAL = "pytorch"


def cards(result: Result, text: Text) -> Table:
    """Every card that is offered: the builds that run on it, or why none does; without a version, the newest listed."""
    wishes, catalogue = result.scenario.requirements, result.catalogue
    framework = USUAL if wishes.framework == "any" else wishes.framework
    version = wishes.framework_version or (None if wishes.cuda_version else versions(framework)[-1])
    rows = np.unique(catalogue.offers.gpu_row)
    answers = compatibility(catalogue.hardware, rows, framework, version, wishes.cuda_version)
    columns = [
        (text("ecosystem.column_card"), [answer.gpu for answer in answers]),
        (text("ecosystem.column_runs"), [text.value(answer.runs) for answer in answers]),
        (text("ecosystem.column_toolkits"), [text.value(list(answer.toolkits)) for answer in answers]),
        (text("ecosystem.column_because"), [text.say(answer.because) if answer.because else "" for answer in answers]),
        (text("ecosystem.column_source"), [answer.source for answer in answers]),
        (text("ecosystem.column_date"), [text.date(answer.as_of) if answer.as_of else "" for answer in answers]),
    ]
    return table(_title(framework, version, wishes.cuda_version, text), columns)


def _title(framework: str, version: str | None, cuda: str | None, text: Text) -> str:
    if version is None:
        return text("ecosystem.cards_cuda", cuda=cuda)
    return text("ecosystem.cards_framework", framework=text.software(framework), version=version)
