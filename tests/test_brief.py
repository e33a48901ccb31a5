"""The brief and its files say what the Result says, to the last digit, and run nothing whatever a name holds."""

import csv
import io
import json
import re
import shutil
import subprocess
from dataclasses import replace
from datetime import date, timedelta
from functools import lru_cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl import load_workbook

from gpudash import GpudashError, Scenario, evaluate, load_catalogue
from gpudash.__main__ import main
from gpudash.brief import Brief, brief_json
from gpudash.export_files import DOCUMENTS, FILES, maker
from gpudash.figures import overview
from gpudash.figures.money import money_of
from gpudash.flips import find_flips
from gpudash.markdown import brief_markdown, escaped
from gpudash.roadmap import commitments, first_day, kpis, reviews, stages
from gpudash.share import scenario_of_url
from gpudash.spreadsheet import BOM, brief_csv, brief_xlsx, safe_text, table_csv
from gpudash.tables import DATA, read_yaml
from gpudash.text import LANGUAGES, Text
from gpudash.uncertainty import draw

SCENARIOS = sorted(path.stem for path in (DATA / "scenarios").glob("*.yaml"))
HOSTILE = (
    "A&B 50% +1 =x #2 <b>\"杭州\"</b> 'x'",
    '=HYPERLINK("http://x","y")',
    "+1+1",
    "-1",
    "@SUM(A1)",
    "\t=1+1",
    "＝1+1",
    "=cmd|' /C calc'!A0",
    "](javascript:alert(1)) ![x](http://x/y.png) <script>alert(1)</script>",
    "saved $420,000 of $680,000 $x^2$ \\input{/etc/passwd} #sys.inputs #panic()",
    "مرحبا بالعالم",
    "🚀👩‍👩‍👧 ² ₂ € ¥ 股 —",
    "x" * 200,
)
ONLY_CELLS = re.compile(r"=(SUM|MAX|MIN|[A-Z]{1,2}\$?\d+|[$()+*/^:,.\-\d]|\$[A-Z])+$")  # no text, no other function
FORMULA = re.compile(r"^\s*[=+\-@＝＋－＠\t\r]")


@lru_cache(maxsize=64)
def result_of(scenario: Scenario):
    return evaluate(scenario, load_catalogue(scenario.catalogue.snapshot))


def scenario_named(name: str) -> Scenario:
    return Scenario.read(read_yaml(DATA / "scenarios" / f"{name}.yaml"))


def brief_of(name: str, language: str = "en", **changes) -> Brief:
    scenario = scenario_named(name).with_values({path.replace("__", "."): value for path, value in changes.items()})
    return Brief(result_of(scenario), Text(language), "https://gpu.example.com/")


def rows_of(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode("utf-8-sig"))))


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


# ---- content -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", SCENARIOS)
def test_every_example_has_a_whole_brief_in_both_languages(name, language):
    brief = brief_of(name, language)
    titles = [part.name for part in brief.parts]
    for wanted in ("numbers", "years", "purchase", "alternatives", "path", "roadmap", "kpis", "assumptions"):
        assert wanted in titles
    assert all(len(part.table) for part in brief.parts)


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_json_holds_the_numbers_of_the_result(name):
    brief = brief_of(name)
    found, result = json.loads(json.dumps(brief_json(brief), allow_nan=False)), brief.result
    best = result.recommendation
    assert found["recommendation"]["monthly_usd"] == best.monthly_usd
    assert found["cost"]["total_usd"] == result.tco[0].total_usd
    for other in found["alternatives"]:
        assert other["difference_usd_per_month"] == other["monthly_usd"] - best.monthly_usd
        assert other["offer"] != best.id
    assert len(found["alternatives"]) == 3
    assert len(found["roadmap"]) == len(found["kpis"]) == 3
    assert found["catalogue"]["snapshot"] == result.snapshot


def test_the_link_of_a_brief_opens_the_same_scenario():
    brief = brief_of("bank-in-china", about__name=HOSTILE[0])
    assert brief.link.startswith("https://gpu.example.com/?v=1&")
    assert scenario_of_url(brief.link).about.name == HOSTILE[0]
    assert result_of(scenario_of_url(brief.link)).recommendation == brief.result.recommendation


def test_the_years_add_up_to_the_whole_cost():
    for name in SCENARIOS:
        brief = brief_of(name, finance__currency="USD")
        years = next(part.table for part in brief.parts if part.name == "years")
        assert sum(years.columns[-1].values) == pytest.approx(brief.result.recommendation.tco_usd, rel=1e-12)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_headline_of_a_run_is_what_one_run_costs_not_its_share_of_a_month(language):
    brief = brief_of("pretrain-13b", language, traffic__runs=1)
    choice, money = brief.result.recommendation, money_of(brief.result, brief.text)
    run = money(choice.cost_per_run_usd)
    assert choice.cost_per_run_usd == choice.tco_usd
    assert run in brief.answer[1] and money(choice.monthly_usd) not in brief.answer[1]
    assert overview.headline(brief.result, brief.text)[0].value == run


@pytest.mark.parametrize("language", LANGUAGES)
def test_where_nothing_is_affordable_the_brief_is_about_what_comes_closest(language):
    brief = brief_of("chat-70b-around-the-clock", language, budget__amount=100)
    assert brief.result.recommendation is None
    assert brief.answer[0] == Text(language)("overview.nothing_meets_budget")
    role = next(part.table for part in brief.parts if part.name == "alternatives").columns[0].values[0]
    assert role == Text(language)("brief.role_closest")
    for make in DOCUMENTS.values():
        assert make(brief)


@pytest.mark.parametrize("language", LANGUAGES)
def test_where_nothing_can_do_the_work_the_brief_says_so(language):
    brief = brief_of("chat-70b-around-the-clock", language, workload__tpot_ms=0.001)
    assert brief.result.cheapest is None
    assert brief.answer[0] == Text(language)("overview.nothing_works")
    assert not stages(brief.result) and not kpis(brief.result) and not commitments(brief.result)
    for make in DOCUMENTS.values():
        assert make(brief)


def test_the_thresholds_that_were_searched_for_come_first():
    brief = brief_of("chat-70b-around-the-clock")
    scenario, catalogue = brief.result.scenario, load_catalogue()
    found = find_flips(scenario, catalogue, should_stop=lambda: True)
    asked = Brief(replace(brief.result, flips=found), brief.text)
    assert found
    lines = brief_json(asked)["would_change"]
    assert {brief.text.say(flip.sentence) for flip in found} == set(lines[: len(found)])
    assert lines[len(found) :] == brief_json(brief)["would_change"]
    assert len(brief_json(asked)["flips"]) == len(found)


def test_the_sureness_that_was_drawn_is_part_of_the_brief():
    brief = brief_of("chat-70b-around-the-clock")
    drawn = next(draw(brief.result.scenario, load_catalogue()))
    asked = Brief(replace(brief.result, uncertainty=drawn), brief.text)
    assert "sureness" in [part.name for part in asked.parts]
    assert "sureness" not in [part.name for part in brief.parts]


@pytest.mark.parametrize("language", LANGUAGES)
def test_own_servers_stand_beside_the_cloud_or_the_brief_says_why_not(language):
    own = {"finance__owned_servers": 2, "finance__owned_gpus_per_server": 8}
    brief = brief_of("chat-70b-around-the-clock", language, finance__owned_gpu="H100 SXM", **own)
    part = next(part for part in brief.parts if part.name == "owned")
    assert brief.result.owned.because is None
    assert brief.result.owned.saving_usd in part.table.columns[1].values
    brief = brief_of("chat-70b-around-the-clock", language, finance__owned_gpu="T4", **own)
    part = next(part for part in brief.parts if part.name == "owned")
    assert part.table.columns[0].values == (brief.text.say(brief.result.owned.because),)
    for make in DOCUMENTS.values():
        assert make(brief)


# ---- roadmap -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_three_stages_follow_each_other_from_the_monday_after_the_prices(name):
    result = brief_of(name).result
    pilot, migrate, commit = stages(result)
    assert pilot.starts.weekday() == 0
    assert timedelta(0) < pilot.starts - date.fromisoformat(result.snapshot) <= timedelta(days=7)
    assert (pilot.ends, migrate.ends) == (migrate.starts, commit.starts)
    assert [kpi.name for kpi in kpis(result)] == ["availability", "speed", "support"]


def test_commitments_are_those_of_the_purchase_mix_and_last_their_whole_term():
    flat = {"traffic__shape": "flat", "purchase__terms": "reserved_1y", "requirements__providers_in": "AWS"}
    result = brief_of("chat-70b-around-the-clock", **flat).result
    bought = commitments(result)
    yearly = [item.servers for item in bought if item.kind == "reserved_1y"]
    assert yearly == [servers for servers in result.purchase_mix.reserved_1y_servers if servers]
    assert bought[0].starts == stages(result)[-1].ends
    assert all((item.ends.year - item.starts.year, item.ends.month) == (1, item.starts.month) for item in bought)


def test_the_hardware_review_comes_once_a_year():
    result = brief_of("chat-70b-around-the-clock").result
    assert len(reviews(result)) == 3
    assert all(day.month == first_day(result).month for day in reviews(result))


def test_the_contract_asks_for_what_the_scenario_asks_for():
    asked = {"requirements__minimum_sla_fraction": 0.99, "workload__ttft_ms": 1500}
    result = brief_of("chat-70b-around-the-clock", **asked).result
    availability, speed, _ = kpis(result)
    assert availability.values == {"availability_fraction": 0.99}
    assert speed.values["ttft_ms"] == 1500
    assert "99%" in Text("en").say(availability.target)
    assert "1,500 ms" in Text("en").say(speed.target)


# ---- CSV ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_csv_opens_in_a_spreadsheet_with_every_digit(language):
    brief = brief_of("bank-in-china", language)
    content = brief_csv(brief)
    assert content.decode("utf-8").startswith(BOM)
    header, *rows = rows_of(content)
    assert all(len(row) == len(header) for row in rows)
    assert brief.link in {row[3] for row in rows}
    months = next(part for part in brief.parts if part.name == "months")
    total = months.table.columns[-1]
    assert [float(row[3]) for row in rows if row[0] == months.title and row[2] == total.label] == list(total.values)
    assert {row[4] for row in rows if row[0] == months.title} == {months.table.source}
    assert load_catalogue().rate("CNY").as_of[:4] in months.table.source


@pytest.mark.parametrize("name", HOSTILE)
def test_no_cell_of_a_csv_runs_as_a_formula_and_numbers_stay_numbers(name):
    datasets = [{"name": name[:80], "size_gb": 10}]
    brief = brief_of("bank-in-china", about__name=name, about__notes=name, storage__datasets=datasets)
    cells = [cell for row in rows_of(brief_csv(brief)) for cell in row]
    assert not [cell for cell in cells if FORMULA.match(cell) and not is_number(cell)]


def test_a_negative_number_stays_a_number_and_negative_text_becomes_text():
    assert safe_text("-11.4") == "'-11.4"
    assert safe_text("plain") == "plain"
    rows = rows_of(brief_csv(brief_of("chat-70b-around-the-clock", finance__credit_usd=1000)))
    assert "-1000.0" in {row[3] for row in rows}


@given(st.text(max_size=60))
def test_no_text_at_all_begins_a_formula(text):
    assert not FORMULA.match(safe_text(text))


# ---- XLSX --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_workbook_has_one_sheet_per_part_with_typed_cells_and_a_frozen_header(language):
    brief = brief_of("chat-70b-around-the-clock", language)
    book = load_workbook(io.BytesIO(brief_xlsx(brief)))
    titles = [part.title for part in (brief.about, *brief.parts)]
    assert book.sheetnames == [*titles, brief.text("bill_sheet.title")]
    for part in brief.parts:
        sheet = book[part.title]
        assert sheet.freeze_panes == "A2"
        for number, column in enumerate(part.table.columns, start=1):
            cells = [sheet.cell(row, number).value for row in range(2, len(part.table) + 2)]
            for cell, value in zip(cells, column.values):
                same = isinstance(value, str) or value is None
                assert cell == ((value or None) if same else pytest.approx(value, rel=1e-15))


def test_the_totals_of_the_workbook_are_formulas_over_the_whole_column():
    brief = brief_of("chat-70b-around-the-clock")
    book = load_workbook(io.BytesIO(brief_xlsx(brief)))
    part = next(part for part in brief.parts if part.name == "months")
    last = len(part.table) + 1
    cell = book[part.title].cell(last + 1, len(part.table.columns))
    assert cell.data_type == "f"
    assert cell.value == f"=SUM({cell.column_letter}2:{cell.column_letter}{last})"


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_of_a_workbook_is_a_formula(name):
    brief = brief_of("bank-in-china", about__name=name, about__author=name, about__notes=name)
    book = load_workbook(io.BytesIO(brief_xlsx(brief)))
    formulas = [cell.value for sheet in book for row in sheet for cell in row if cell.data_type == "f"]
    assert formulas and all(ONLY_CELLS.match(formula) for formula in formulas)
    about = book[brief.about.title]
    assert name in [cell.value for cell in about["B"]]


# ---- Markdown ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HOSTILE)
def test_markdown_shows_a_name_as_it_is_written(name):
    page = brief_markdown(brief_of("bank-in-china", about__name=name)).decode("utf-8")
    assert page.startswith(f"# {escaped(name)}\n")
    for sign in ("<", "$", "[", "]", "`"):
        assert all(before == "\\" for before in re.findall(rf"(.)\{sign}", escaped(name)))
    assert re.sub(r"\\(?=[!-/:-@\[-`{-~])", "", escaped(name)) == name.replace("\t", " ").strip()


@given(st.text(max_size=60))
@settings(max_examples=200)
def test_escaped_text_is_one_line_that_begins_no_block(text):
    line = escaped(text)
    assert "\n" not in line and "\r" not in line
    assert not re.match(r"([-+=#>|]|\d+[.)](\s|$)|```|~~~)", line)


# ---- the command -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", FILES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_command_writes_every_kind_of_file(ending, language, tmp_path, capsys):
    file = tmp_path / f"brief{ending}"
    example = str(DATA / "scenarios" / "chat-70b-around-the-clock.yaml")
    assert main(["brief", example, "-o", str(file), "--language", language]) == 0
    assert json.loads(capsys.readouterr().out) == {"file": str(file), "bytes": file.stat().st_size}
    assert file.stat().st_size < 1_000_000


def test_an_unknown_kind_of_file_is_refused_before_anything_is_calculated(capsys):
    assert main(["brief", "-o", "brief.docx"]) == 2
    assert ".xlsx" in capsys.readouterr().err
    with pytest.raises(GpudashError):
        maker("brief")


def test_an_address_that_no_browser_opens_is_refused(tmp_path, capsys):
    assert main(["brief", "-o", str(tmp_path / "brief.md"), "--address", "javascript:alert(1)"]) == 2
    assert "https://" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_refused_with_a_sentence(tmp_path, capsys):
    assert main(["brief", "-o", str(tmp_path / "nowhere" / "brief.json")]) == 2
    assert "nowhere" in capsys.readouterr().err


# ---- a spreadsheet program ---------------------------------------------------------------------------------------


def calculated(file: Path, folder: Path) -> dict[str, list[list[str]]]:
    """Every sheet of a workbook as LibreOffice calculates it, by the sheet's name."""
    profile = f"-env:UserInstallation=file://{folder / 'profile'}"
    every_sheet = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,false,false,false,-1"
    command = [
        "soffice",
        "--headless",
        profile,
        "--convert-to",
        every_sheet,
        "--outdir",
        str(folder / "out"),
        str(file),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=180)
    return {
        path.stem.removeprefix(f"{file.stem}-"): list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))
        for path in (folder / "out").iterdir()
    }


EVERYTHING = {
    "purchase__horizon_months": 30,
    "purchase__resale_fraction": 0.4,
    "purchase__upfront_fraction": 0.3,
    "purchase__spot_fraction": 0.3,
    "purchase__negotiated_discounts": [
        {"provider": "AWS", "discount_fraction": 0.1},
        {"provider": "AWS", "discount_fraction": 0.15, "gpu": "H100 SXM"},
    ],
    "purchase__savings_plans": [{"provider": "AWS", "reserved_1y_discount_fraction": 0.6}],
    "traffic__growth_fraction_per_month": 0.02,
    "storage__egress_gb_per_month": 30_000,
    "storage__datasets": [
        {"name": "=weights", "size_gb": 900, "growth_fraction_per_month": 0.03, "reads_gb_per_month": 4000},
        {"name": "logs", "size_gb": 50_000, "kept_days": 20, "max_latency_ms": 1e9, "write_requests_per_month": 1e7},
    ],
    "finance__support_plan": "Business",
    "finance__staff_fte": 0.5,
    "finance__migration_usd": 12_000,
    "finance__tax_fraction": 0.06,
    "finance__currency": "EUR",
    "requirements__providers_in": "AWS",
}


@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("bank-in-china", {}),
        ("lora-7b", {}),
        ("chat-70b-around-the-clock", EVERYTHING | {"finance__credit_usd": 90_000, "finance__credit_until_month": 7}),
        ("chat-70b-around-the-clock", EVERYTHING | {"finance__credit_usd": 1e9, "finance__credit_share_fraction": 0.3}),
    ],
)
def test_a_spreadsheet_works_out_every_month_of_the_bill_from_quantities_and_rates(name, changes, tmp_path):
    brief = brief_of(name, **changes)
    (tmp_path / "brief.xlsx").write_bytes(brief_xlsx(brief))
    rows = calculated(tmp_path / "brief.xlsx", tmp_path)[brief.text("bill_sheet.title")]
    bill, money = brief.result.leading_bill, money_of(brief.result, brief.text)
    header = next(number for number, row in enumerate(rows) if row[0] == brief.text("figures.month"))
    label = brief.text("bill_sheet.amount", label=brief.text("bill_sheet.total"), currency=money.currency)
    total = rows[header].index(label)
    for row, month in zip(rows[header + 1 :], bill.months):
        assert float(row[total]) == pytest.approx(money.amount(month.total_usd), rel=1e-12)
        tax = money.amount(month.total_usd) * brief.result.scenario.finance.tax_fraction
        assert float(row[total + 1]) == pytest.approx(tax, rel=1e-12)
    summed = rows[header + len(bill.months) + 1]
    assert float(summed[total]) == pytest.approx(money.amount(bill.total_usd), rel=1e-12)


@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
@pytest.mark.parametrize("after_life", ["replace", "cloud"])
def test_a_spreadsheet_works_out_every_month_with_own_servers(after_life, tmp_path):
    own = {"finance__owned_servers": 1, "finance__life_years": 2, "finance__after_life": after_life}
    brief = brief_of("chat-70b-around-the-clock", **own, finance__currency="EUR", finance__support_plan="Business")
    (tmp_path / "brief.xlsx").write_bytes(brief_xlsx(brief))
    rows = calculated(tmp_path / "brief.xlsx", tmp_path)[brief.text("owned_sheet.title")]
    header = next(number for number, row in enumerate(rows) if row[0] == brief.text("owned_page.month"))
    money = money_of(brief.result, brief.text)
    for name in ("hardware", "residual", "electricity", "hosting", "maintenance", "staff", "cloud", "total"):
        column = rows[header].index(brief.text(f"owned_page.{name}", currency=money.currency))
        for row, month in zip(rows[header + 1 :], brief.result.owned.months):
            expected = money.amount(getattr(month, f"{name}_usd"))
            assert float(row[column]) == pytest.approx(expected, rel=1e-12, abs=1e-9), (name, month.month)


@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
def test_a_spreadsheet_program_reads_the_csv_of_a_table_as_numbers_with_the_same_totals(tmp_path):
    brief = brief_of("bank-in-china", about__name=HOSTILE[1])
    part = next(part for part in brief.parts if part.name == "months")
    (tmp_path / "months.csv").write_bytes(table_csv(part.table, brief))
    utf_8_with_commas = "--infilter=CSV:44,34,76,1,,0,false,true,false"
    command = ["soffice", "--headless", f"-env:UserInstallation=file://{tmp_path / 'profile'}", utf_8_with_commas]
    command += ["--convert-to", "xlsx", "--outdir", str(tmp_path / "out"), str(tmp_path / "months.csv")]
    subprocess.run(command, check=True, capture_output=True, timeout=180)
    header, *rows = load_workbook(tmp_path / "out" / "months.xlsx").active.iter_rows(values_only=True)
    assert list(header) == [column.label for column in part.table.columns]
    for number, total in enumerate(part.totals(brief.text)[1:], start=1):
        assert sum(row[number] for row in rows[: len(part.table)]) == pytest.approx(total, rel=1e-12)
    notes = dict(row[:2] for row in rows[len(part.table) + 1 :])
    assert notes[brief.text("brief.about_prices")] == brief.prices
    assert notes[brief.text("brief.about_link")] == brief.link


@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
def test_a_spreadsheet_program_calculates_the_same_totals(tmp_path):
    brief = brief_of("bank-in-china", about__name=HOSTILE[1])
    (tmp_path / "brief.xlsx").write_bytes(brief_xlsx(brief))
    sheets = calculated(tmp_path / "brief.xlsx", tmp_path)
    for part in brief.parts:
        if part.summed:
            found = sheets[part.title][len(part.table) + 1]
            for cell, total in zip(found[1:], part.totals(brief.text)[1:]):
                assert float(cell) == pytest.approx(total, rel=1e-9)
    assert [HOSTILE[1]] == [row[1] for row in sheets[brief.about.title] if row[0] == brief.text("brief.about_name")]


def test_a_sheet_of_the_workbook_shows_all_of_its_words_and_fits_on_paper():
    brief = brief_of("bank-in-china", language="zh")
    book = load_workbook(io.BytesIO(brief_xlsx(brief)))
    assert all(sheet.sheet_properties.pageSetUpPr.fitToPage and not sheet.page_setup.fitToHeight for sheet in book)
    decision = book.worksheets[0]
    column = decision.column_dimensions["B"].width
    for row, line in enumerate(brief.about.table.columns[1].values, start=2):
        wide = len(re.findall(r"[\u4e00-\u9fff]", line))  # each takes the room of two letters
        assert len(line) + wide <= column * decision.row_dimensions[row].height / 15
