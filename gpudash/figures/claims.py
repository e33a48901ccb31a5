"""The audit of the articles: every claim with its verdict, worked examples, and the articles' matrix of providers."""

from collections import Counter
from collections.abc import Mapping

import numpy as np

from gpudash.claims import VERDICTS, WorkedExample, claims, worked_examples
from gpudash.figures.table import Table, table
from gpudash.formula import coefficient, useful_hour_cost_factor
from gpudash.provider_matrix import ArticleColumn, article_matrix, capabilities
from gpudash.result import Result
from gpudash.text import Text


def verdicts(result: Result, text: Text) -> list[str]:
    """How many claims came out how."""
    counted = Counter(claim.verdict for claim in claims())
    total = text.number(len(claims()))
    return [
        text(f"claims_page.count_{verdict}", count=text.number(count), total=total)
        for verdict in VERDICTS
        if (count := counted[verdict])
    ]


def audit(result: Result, text: Text) -> Table:
    """Every claim, its arithmetic, its verdict and what it needs."""
    rows = claims()
    columns = [
        (text("claims_page.column_id"), [claim.id for claim in rows]),
        (text("claims_page.column_verdict"), [text(f"claims.verdict_{claim.verdict}") for claim in rows]),
        (text("claims_page.column_article"), [text(f"claims_page.article_{claim.article}") for claim in rows]),
        (text("claims_page.column_claim"), [text.say(claim.claim) for claim in rows]),
        (text("claims_page.column_arithmetic"), [claim.arithmetic for claim in rows]),
        (
            text("claims_page.column_assumption"),
            [text.say(claim.assumption) if claim.assumption else "" for claim in rows],
        ),
        (text("claims_page.column_section"), [text.say(claim.section) for claim in rows]),
        (text("claims_page.column_against"), [claim.checked_against for claim in rows]),
    ]
    return table(text("claims_page.audit_title", count=text.number(len(rows))), columns)


def worked(result: Result, text: Text) -> Table:
    """Claims that depend on how their words are read: what each reading gives."""
    rows = [(example, reading) for example in worked_examples() for reading in example.readings]
    columns = [
        (text("claims_page.column_id"), [example.claim.id for example, _ in rows]),
        (text("claims_page.column_claim"), [text.say(example.claim.claim) for example, _ in rows]),
        (text("claims_page.column_reading"), [text(f"claims_page.reading_{reading.name}") for _, reading in rows]),
        (text("claims_page.column_gives"), [_gives(example, reading.value, text) for example, reading in rows]),
    ]
    return table(text("claims_page.worked_title"), columns)


def _gives(example: WorkedExample, value: float, text: Text) -> str:
    if not np.isfinite(value):
        return text("claims_page.never")
    if example.figure in ("saves", "gains"):
        return text(f"claims_page.{example.figure if value >= 0 else 'costs_more'}", share=text.percent(abs(value)))
    return text(f"claims_page.{example.figure}", value=text.number(value, 3))


def outcome(example: WorkedExample, inputs: Mapping[str, float | bool], text: Text) -> list[str]:
    """What a claim gives with a reader's own numbers, whether that is the printed figure, and what idle time costs."""
    value = example.value(inputs)
    verdict, gives = example.verdict(value), _gives(example, value, text)
    if verdict is None:
        lines = [text("claims_page.outcome_rule", gives=gives)]
    else:
        printed = _gives(example, example.article_gives, text)
        lines = [text(f"claims_page.outcome_{verdict}", gives=gives, printed=printed)]
    if "utilisation_fraction" in inputs:
        lines.append(_idle(inputs["utilisation_fraction"], inputs["stepped"], text))
    return lines


def _idle(utilisation_fraction: float, stepped: bool, text: Text) -> str:
    """What the formula's coefficient stands for: the price of a useful hour where every hour is paid."""
    factor = useful_hour_cost_factor(utilisation_fraction)
    if not np.isfinite(factor):
        return text("claims_page.idle_always")
    said = {"share": text.percent(utilisation_fraction), "factor": text.number(factor, 3)}
    return text("claims_page.idle", coefficient=text.number(coefficient(utilisation_fraction, stepped), 3), **said)


def article_matrix_table(result: Result, text: Text) -> Table:
    """The article's own matrix of providers, beside the data sheets of the cards it names."""
    columns_of = article_matrix(result.catalogue.hardware)
    columns = [
        (text("claims_page.column_article_column"), [column.column for column in columns_of]),
        (text("claims_page.column_card"), [column.gpu or text("claims_page.no_card") for column in columns_of]),
        (text("claims_page.column_fp16"), [_pair(column, "fp16_tflops", text) for column in columns_of]),
        (text("claims_page.column_bandwidth"), [_pair(column, "bandwidth_gb_per_s", text) for column in columns_of]),
        (text("claims_page.column_compliance"), [column.compliance for column in columns_of]),
        (text("claims_page.column_identified"), [column.identified_by for column in columns_of]),
    ]
    return table(text("claims_page.matrix_title"), columns, text("claims_page.matrix_source"))


def _pair(column: ArticleColumn, name: str, text: Text) -> str:
    sheet = getattr(column, f"card_{name}")
    claimed = text.number(getattr(column, name))
    if sheet is None:
        return claimed
    return text("claims_page.pair", claimed=claimed, sheet=text.number(sheet))


def contradictions(result: Result, text: Text) -> list[str]:
    """What the article's matrix says that cannot be."""
    return [
        text("claims_page.contradiction", column=column.column, what=text.say(message))
        for column in article_matrix(result.catalogue.hardware)
        for message in column.contradictions
    ]


def providers(result: Result, text: Text) -> Table:
    """What each provider promises, as far as public sources say; an empty cell means that none was found."""
    rows = capabilities(result.catalogue)
    columns = [
        (text("claims_page.column_provider"), [row.provider for row in rows]),
        (text("claims_page.column_kind"), [text(f"common.kind.{row.kind}") for row in rows]),
        (text("claims_page.column_offers"), [row.offers for row in rows], "number"),
        (text("claims_page.column_sla"), [row.sla_percent for row in rows], "number"),
        (text("claims_page.column_response"), [row.support_response_minutes for row in rows], "number"),
        (text("claims_page.column_compliance"), [text.value(list(row.compliance)) for row in rows]),
        (text("claims_page.column_kubernetes"), [text.value(row.kubernetes_gpu) for row in rows]),
        (text("claims_page.column_monitoring"), [text.value(row.gpu_monitoring_api) for row in rows]),
        (text("claims_page.column_hybrid"), [row.hybrid_cloud for row in rows]),
        (text("claims_page.column_models"), [row.pretrained_models for row in rows], "number"),
        (text("claims_page.column_green"), [row.green_certification for row in rows]),
        (text("claims_page.column_source"), [row.source for row in rows]),
        (text("claims_page.column_date"), [text.date(row.as_of) for row in rows]),
    ]
    return table(text("claims_page.providers_title", count=text.number(len(rows))), columns)
