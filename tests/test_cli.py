"""The command line: one answer per question as JSON, one sentence per mistake, the same numbers as everywhere else."""

import io
import json
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from gpudash import GpudashError, Scenario, catalogue_commands, catalogue_refresh, evaluate, load_catalogue
from gpudash.__main__ import COMMANDS, json_lines, main
from gpudash.documents import DEPTH, MEGABYTES
from gpudash.share import pinned, scenario_of_url, url
from gpudash.tables import DATA, read_rows

ROOT = Path(__file__).parents[1]
MAIN_QUESTION = [
    part
    for setting in (
        "workload.model=llama-3.1-70b",
        "workload.context_tokens=1000",
        "workload.output_tokens=300",
        "traffic.peak_requests_per_s=20",
        "traffic.shape=office_hours",
        "requirements.countries=EU",
        "budget.amount=60000",
    )
    for part in ("--set", setting)
]
MIX = {
    "demand": [[2, 3]],
    "firm": [[1, 1]],
    "on_demand_usd_per_hour": 2,
    "spot_usd_per_hour": 1,
    "reserved_1y_usd_per_hour": None,
    "reserved_3y_usd_per_hour": 0.5,
}
TIERS = {
    "datasets": [
        {"name": "hot", "size_gb": 250, "reads_gb_per_month": 0, "max_latency_ms": 10, "kept_days": 365},
        {"name": "cold", "size_gb": 750, "reads_gb_per_month": 0, "max_latency_ms": 60_000, "kept_days": 365},
    ],
    "tiers": [
        {"name": "fast", "usd_per_gb_month": 0.15, "latency_ms": 5},
        {"name": "slow", "usd_per_gb_month": 0.005, "latency_ms": 5000},
    ],
}
SCORE = {
    "options": ["a", "b"],
    "criteria": [{"name": "x", "objective": "min", "weight": 0.5}, {"name": "y", "objective": "min", "weight": 0.5}],
    "matrix": [[10.1, 1], [10, 5]],
}
FORMULA = ["--base", "100", "--reserved-discount", "0.3", "--burst", "50", "--region-premium", "0.1"]


@pytest.fixture
def ask(capsys):
    """The JSON answer of a command that must succeed."""

    def run(*arguments: str):
        code = main(list(arguments))
        printed = capsys.readouterr()
        assert (code, printed.err) == (0, "")
        return json.loads(printed.out, parse_constant=lambda name: pytest.fail(f"{name} in the answer"))

    return run


@pytest.fixture
def refused(capsys):
    """The sentence of a command that must be refused: one line on stderr, nothing on stdout, exit code 2."""

    def run(*arguments: str) -> str:
        code = main(list(arguments))
        printed = capsys.readouterr()
        assert (code, printed.out) == (2, "")
        assert printed.err.endswith("\n") and printed.err.count("\n") == 1
        assert "Traceback" not in printed.err
        return printed.err

    return run


@pytest.fixture
def file(tmp_path):
    def write(content, name: str = "question.yaml") -> str:
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return str(path)

    return write


def process(*arguments: str, **settings) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "gpudash", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, timeout=120, check=False, **settings)


# ---- answers -----------------------------------------------------------------------------------------------------


def test_the_main_question_is_answered_in_one_call(ask):
    """Llama-3.1-70B chat in office hours, data in the EU, 60,000 USD a month."""
    found = ask("evaluate", *MAIN_QUESTION)
    best = found["recommendation"]
    assert best["country"] in load_catalogue().country_groups["EU"]
    assert best["monthly_usd"] == pytest.approx(best["tco_usd"] / 36)
    assert best["monthly_usd"] < 60_000
    assert sum(best["purchase_split"].values()) == pytest.approx(1)
    assert set(best["purchase_split"]) == {"on_demand", "reserved_1y", "reserved_3y", "monthly", "spot"}
    assert sum(month["total_usd"] for month in found["tco"][0]["months"]) == pytest.approx(best["tco_usd"])
    assert best["servers"] == max(found["demand"]["servers"][0])
    assert best["reasons"]


def test_evaluate_answers_with_every_key_of_the_contract(ask):
    found = ask("evaluate", *MAIN_QUESTION)
    assert set(found) >= {
        "recommendation", "alternatives", "rejected", "sizing", "demand", "purchase_mix", "storage", "tco", "scores",
        "path", "uncertainty", "flips", "assumptions", "warnings", "catalogue", "scenario", "cheapest",
        "gap_usd_per_month",
    }  # fmt: skip
    assert found["uncertainty"] is found["flips"] is None
    assert set(found["path"]) == {"article_five_steps", "article_five_stages", "gpudash"}
    assert set(found["scores"]) >= {"three_dimension", "four_dimension", "gpudash"}
    assert all(set(row) >= {"offer", "score", "rank"} for rows in found["scores"].values() for row in rows)
    assert all(row["because"] and row["offer"] for row in found["rejected"])
    offers = len(load_catalogue().offers)
    assert len({row["offer"] for row in found["rejected"]}) < found["catalogue"]["offers"] == offers
    origins = {"entered", "measured", "catalogue", "default", "derived"}
    assert {row["origin"] for row in found["assumptions"]} <= origins


def test_command_line_file_link_and_python_give_the_same_numbers(ask, file):
    by_options = ask("evaluate", *MAIN_QUESTION)
    link = ask("link", *MAIN_QUESTION)["link"]
    by_link = ask("evaluate", "--link", link)
    by_file = ask("evaluate", file(by_link["scenario"]))
    assert by_file == by_link
    numbers = set(by_link) - {"scenario", "assumptions"}  # the link pins the newest snapshot, which is then "entered"
    assert {name: by_options[name] for name in numbers} == {name: by_link[name] for name in numbers}
    result = evaluate(scenario_of_url(link), load_catalogue())
    assert by_link["recommendation"]["tco_usd"] == result.recommendation.tco_usd
    assert by_link["recommendation"]["npv_usd"] == result.recommendation.npv_usd


def test_a_budget_that_nothing_meets_names_the_cheapest_and_the_gap(ask):
    found = ask("evaluate", *MAIN_QUESTION, "--set", "budget.amount=100")
    assert found["recommendation"] is None
    assert found["gap_usd_per_month"] == pytest.approx(found["cheapest"]["monthly_usd"] - 100)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("path", sorted((DATA / "scenarios").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_starting_point_is_answered_in_both_languages(ask, path, language):
    found = ask("evaluate", str(path), "--language", language)
    assert found["recommendation"] is not None


@pytest.mark.parametrize("name", ["gpudash", "article_five_steps", "article_five_stages"])
def test_tree_shows_the_path_taken(ask, name):
    found = ask("tree", name, *MAIN_QUESTION)
    assert found["steps"] == ask("evaluate", *MAIN_QUESTION)["path"][name]
    for step in found["steps"]:
        assert set(step) >= {"question", "fact", "threshold", "margin", "branch", "candidates_left"}
        assert step["candidates_left"] <= step["candidates_before"]


def test_memory_answers_with_the_lines_that_add_up(ask):
    found = ask("memory", "--model", "llama-3-8b", "--context-tokens", "8192")
    assert found["kv_bytes_per_token"] == 131_072
    assert found["kv_cache_gb"] == pytest.approx(1.073741824)
    lines = ("weights_gb", "kv_cache_gb", "state_gb", "buffer_gb")
    assert found["total_gb"] == pytest.approx(sum(found[line] for line in lines), rel=1e-12)
    assert found["verdict"] is None


def test_memory_says_whether_the_model_fits_on_a_card(ask):
    arguments = ("memory", "--model", "llama-3.1-70b", "--weights", "bf16")
    assert ask(*arguments, "--gpu", "H100 SXM", "--gpus", "1")["verdict"] == "does_not_fit"
    assert ask(*arguments, "--gpu", "h100-sxm", "--gpus", "4")["verdict"] == "fits"


def test_training_takes_more_memory_than_serving(ask):
    served = ask("memory", "--model", "llama-3-8b", "--gpus", "8")
    trained = ask("memory", "--model", "llama-3-8b", "--gpus", "8", "--method", "full", "--zero-stage", "3")
    assert trained["total_gb"] > 6 * served["total_gb"]


def test_memory_takes_a_geometry_of_ones_own(ask):
    found = ask("memory", "--model", "llama-3-8b", "--set", "workload.kv_heads=32", "--context-tokens", "1")
    assert found["kv_bytes_per_token"] == 4 * 131_072


def test_speed_has_a_band_around_it_and_neighbours_that_were_measured(ask):
    found = ask("speed", "--model", "llama-3.1-70b", "--gpu", "H100 SXM", "--gpus", "4", "--batch", "16")
    assert found["low"] < found["output_tokens_per_s"] < found["high"]
    assert found["max_batch"] > 16
    assert found["warnings"] == []
    assert found["nearest_measured"]


def test_speed_beyond_the_memory_says_so(ask):
    found = ask("speed", "--model", "llama-3.1-70b", "--gpu", "T4", "--batch", "16")
    assert found["max_batch"] == 0
    assert "do not fit" in found["warnings"][0]


def test_mix_reads_a_file_or_what_is_piped_in(ask, file):
    path = file(MIX)
    found = ask("mix", path)
    assert found["total_usd"] == pytest.approx(3 * 8760 * 0.5 + 1.5 * 8760 * 1)
    piped = process("mix", "-", input=json.dumps(MIX).encode())
    assert json.loads(piped.stdout) == found


def test_tiers_places_each_data_set(ask, file):
    found = ask("tiers", file(TIERS))
    assert found["placement"] == {"hot": "fast", "cold": "slow"}
    assert found["monthly_usd"] == pytest.approx(250 * 0.15 + 750 * 0.005)


def test_score_answers_with_every_key_of_the_contract(ask, file):
    found = ask("score", file(SCORE))
    assert found["scores"] == pytest.approx([0.5 * 10 / 10.1 + 0.5, 0.6])
    assert found["ranks"] == [1, 2]
    assert set(found) >= {"weight_intervals", "first_share", "warnings"}


def test_formula_reproduces_the_published_example(ask):
    found = ask("formula", *FORMULA, "--utilisation", "0.45")
    assert found == {"coefficient": pytest.approx(1.225), "total": pytest.approx(148.225)}
    assert ask("formula", *FORMULA, "--utilisation", "0.45", "--stepped")["coefficient"] == pytest.approx(1.15)


def test_claims_have_a_verdict_each(ask):
    verdicts = {"reproduces", "needs_assumption", "contradicted", "cannot_be_checked"}
    assert {claim["verdict"] for claim in ask("claims")} == verdicts


def test_catalogue_lists_shows_and_checks_the_prices(ask):
    dates = ask("catalogue", "list")["snapshots"]
    assert ask("catalogue", "show")["snapshot"] == dates[-1]
    assert ask("catalogue", "show", dates[0])["offers"] > 0
    assert ask("catalogue", "check") == {"faults": []}


def test_catalogue_compares_two_snapshots(ask):
    date = ask("catalogue", "list")["snapshots"][-1]
    found = ask("catalogue", "diff", date, date)
    assert (found["before"], found["after"], found["rows"]) == (date, date, [])


def test_catalogue_says_what_a_price_sheet_would_add(ask, file):
    sheet = "Machine,Cards,Card,Price\nbig,8,H100 SXM,16.0\nwrong,8,H1000,16.0\n"
    headings = {"instance": "Machine", "gpus_per_server": "Cards", "gpu": "Card", "on_demand_per_hour": "Price"}
    answers = {"price_unit": "server", "period": "hour", "currency": "USD", "provider": "Our reseller"}
    answers |= {"kind": "reseller", "region": "Frankfurt", "as_of": "2026-11-01"}
    arguments = [part for pair in headings.items() for part in ("--map", "=".join(pair))]
    arguments += [part for pair in answers.items() for part in ("--answer", "=".join(pair))]
    before = ask("catalogue", "list")
    found = ask("catalogue", "import", file(sheet, "offer.csv"), *arguments)
    assert (found["rows"], found["added"], found["replaced"]) == (2, 1, 0)
    assert [row["line"] for row in found["refused"]] == [3]
    assert "H1000" in found["refused"][0]["because"]
    assert ask("catalogue", "list") == before


def test_a_refresh_without_network_changes_nothing_and_says_so(ask, monkeypatch, tmp_path):
    def unreachable(url):
        raise GpudashError("catalogue_refresh.unreachable", url=url, problem="no network")

    class NextWeek:
        @staticmethod
        def today():
            return date(2099, 1, 1)

    monkeypatch.setattr("gpudash.feeds.fetch.fetch", unreachable)
    monkeypatch.setattr(catalogue_commands, "date", NextWeek)
    before = ask("catalogue", "list")
    summary = tmp_path / "summary.md"
    found = ask("catalogue", "refresh", "--summary", str(summary))
    assert found["snapshot"] is None
    assert len(found["feeds"]) == len(catalogue_refresh.all_feeds()) + 1  # and the exchange rates
    assert all("no network" in feed["failed"] for feed in found["feeds"])
    assert "no network" in summary.read_text(encoding="utf-8")
    assert ask("catalogue", "list") == before


@pytest.mark.parametrize(
    ("command", "table", "measured"),
    [
        ("speed-batch", "inference.csv", "output_tokens_per_s"),
        ("training-batch", "training.csv", "tokens_per_s_per_gpu"),
    ],
)
def test_a_table_comes_back_with_a_prediction_and_a_band_beside_each_row(ask, tmp_path, command, table, measured):
    source, target = DATA / "measured" / table, tmp_path / "out.csv"
    found = ask(command, str(source), "-o", str(target))
    before, after = read_rows(source), read_rows(target)
    assert found == {
        "file": str(target),
        "rows": len(before),
        "predicted": sum(row["predicted"] != "" for row in after),
    }
    assert [{name: row[name] for name in before[0]} for row in after] == before
    for row in after:
        assert (row["predicted"] == "") == (row["because"] != "")
        if row["predicted"]:
            assert float(row["low"]) < float(row["predicted"]) < float(row["high"])
    errors = [
        abs(float(row["predicted"]) / float(row[measured]) - 1) for row in after if row["predicted"] and row[measured]
    ]
    assert sorted(errors)[len(errors) // 2] < 0.2


def test_memory_batch_predicts_what_was_measured(ask, tmp_path):
    source, target = DATA / "measured" / "memory.csv", tmp_path / "out.csv"
    assert ask("memory-batch", str(source), "-o", str(target))["rows"] == len(read_rows(source))
    rows = read_rows(target)
    assert set(rows[0]) - set(read_rows(source)[0]) == {"predicted", "low", "high", "because"}
    errors = [abs(float(row["predicted"]) / float(row["measured_gb"]) - 1) for row in rows if row["predicted"]]
    assert sorted(errors)[len(errors) // 2] < 0.15


def test_fit_batch_gives_a_verdict_and_a_sentence_for_each_row(ask, tmp_path):
    target = tmp_path / "out.csv"
    found = ask("fit-batch", str(DATA / "measured" / "deployments.csv"), "-o", str(target))
    rows = read_rows(target)
    assert found["predicted"] == sum(row["predicted_verdict"] != "" for row in rows)
    assert {row["predicted_verdict"] for row in rows} <= {"fits", "tight", "does_not_fit", ""}
    assert all(row["because"] for row in rows)
    assert all(float(row["predicted_gb"]) > 0 for row in rows if row["predicted_verdict"])


def test_a_row_that_cannot_be_predicted_stays_and_says_why(ask, file, tmp_path):
    target = tmp_path / "out.csv"
    table = 'model,gpu,engine,phase,batch_size,context_tokens,output_tokens\n"=1+1",H100 SXM,vllm,decode,1,100,100\n'
    assert ask("speed-batch", file(table, "in.csv"), "-o", str(target))["predicted"] == 0
    (row,) = read_rows(target)
    assert row["model"] == "=1+1"
    assert "=1+1" in row["because"]


BATCHES = ("speed-batch", "training-batch", "memory-batch", "fit-batch")


@pytest.mark.parametrize("command", BATCHES)
def test_a_table_without_rows_comes_back_without_rows(ask, file, tmp_path, command):
    target = tmp_path / "out.csv"
    assert ask(command, file("model,gpu\n", "in.csv"), "-o", str(target))["rows"] == 0
    assert target.read_text(encoding="utf-8").startswith("model,gpu,predicted")


@pytest.mark.parametrize("command", BATCHES)
@pytest.mark.parametrize("cell", ["0", "-1", "nan", "inf", "1e400"])
@pytest.mark.parametrize("column", ["gpu_count", "params_b", "active_params_b"])
def test_a_count_that_cannot_be_meant_is_a_reason_not_a_prediction(ask, file, tmp_path, command, cell, column):
    target = tmp_path / "out.csv"
    table = f"model,gpu,seq_len,{column}\nllama-3-8b,H100 SXM,2048,{cell}\nllama-3-8b,H100 SXM,2048,\n"
    found = ask(command, file(table, "in.csv"), "-o", str(target))
    wrong, right = read_rows(target)
    predicted = next(name for name in wrong if name.startswith("predicted"))
    assert (wrong[predicted], found["predicted"]) == ("", 1)
    assert cell.removesuffix(".0") in wrong["because"]
    assert right[predicted]


def test_a_row_of_an_unknown_phase_names_the_known_ones(ask, file, tmp_path):
    target = tmp_path / "out.csv"
    ask("speed-batch", file("model,gpu,phase\nllama-3-8b,H100 SXM,decoding\n", "in.csv"), "-o", str(target))
    assert "decode, prefill" in read_rows(target)[0]["because"]


def test_a_table_may_be_piped_in(ask, tmp_path, monkeypatch):
    target = tmp_path / "out.csv"
    piped = io.TextIOWrapper(io.BytesIO("\ufeffmodel,gpu\nllama-3-8b,H100 SXM\n".encode()))
    monkeypatch.setattr("sys.stdin", piped)
    assert ask("fit-batch", "-", "-o", str(target))["predicted"] == 1


def test_a_card_without_published_figures_gets_no_speed_and_the_reason(ask):
    found = ask("speed", "--model", "llama-3.1-8b", "--gpu", "Ascend 910B")
    assert found["output_tokens_per_s"] is None
    assert "no published" in found["warnings"][0]


def test_a_scenario_survives_link_and_open(ask, file):
    scenario = pinned(Scenario().with_values({"workload.params_b": 70, "about.name": "A&B 50% +1 =x #2 杭州"}))
    link = ask("link", file(json.loads(scenario.model_dump_json())))["link"]
    assert link == url(scenario)
    assert Scenario.read(ask("open", link)) == scenario


def test_one_input_can_be_changed_in_every_notation(ask, file):
    path = file("workload: {model: llama-3.1-70b}\ncatalogue: {snapshot: 2026-11-30}\n")
    settings = (
        "requirements.countries=DE,FR",
        'purchase.negotiated_discounts={"AWS": 0.2}',
        "workload.ttft_ms=none",
        "about.name=a=b",
    )
    arguments = [part for setting in settings for part in ("--set", setting)]
    scenario = Scenario.read(ask("open", ask("link", path, *arguments)["link"]))
    assert scenario.workload.model == "llama-3.1-70b"
    assert scenario.requirements.countries == ("DE", "FR")
    assert scenario.purchase.negotiated_discounts[0].provider == "AWS"
    assert scenario.workload.ttft_ms is None
    assert scenario.about.name == "a=b"


def test_help_is_in_both_languages(capsys):
    for name in COMMANDS:
        for language in ("en", "zh"):
            assert main([*name.split(), "--help", "--language", language]) == 0
    assert main(["--help"]) == 0
    printed = capsys.readouterr().out
    assert "share link" in printed and "分享链接" in printed


def test_answers_keep_every_digit_and_refuse_what_json_cannot_hold():
    assert json_lines({"a": [0.1 + 0.2, 1], "b": {}}) == '{\n  "a": [0.30000000000000004, 1],\n  "b": {}\n}'
    with pytest.raises(ValueError):
        json_lines({"a": float("nan")})


# ---- mistakes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "evaluate, memory, speed"),
        (["evalute"], "Use evaluate"),
        (["--language", "fr", "claims"], "en, zh"),
        (["catalogue"], "catalogue list, catalogue show"),
        (["catalogue", "shwo"], "catalogue show"),
        (["catalogue", "diff", "2026-11-30"], "later"),
        (["catalogue", "import", "no/such.csv"], "no file"),
        (["catalogue", "import", str(DATA / "gpu_aliases.csv")], "Please answer"),
        (["catalogue", "import", str(DATA / "gpu_aliases.csv"), "--answer", "colour=red"], "currency"),
        (["catalogue", "import", str(DATA / "gpu_aliases.csv"), "--map", "colour=red"], "instance"),
        (["speed-batch", "no/such.csv", "-o", "out.csv"], "no file"),
        (["speed-batch", "."], "-o"),
        (["speed-batch", ".", "-o", "out.csv"], "cannot be read"),
        (["speed-batch", str(DATA / "gpu_aliases.csv"), "-o", "no/such/folder/out.csv"], "cannot be written"),
        (["catalogue", "show", "2019-01-01"], "nearest"),
        (["formula", *FORMULA], "--utilisation"),
        (["formula", *FORMULA, "--utilisation", "x"], "must be a number"),
        (["formula", *FORMULA, "--utilisation", "nan"], "must be a number"),
        (["formula", *FORMULA, "--utilisation", "7"], "1"),
        (["memory", "--batch", "0"], "from 1"),
        (["memory", "--gpus", "1.5"], "whole number"),
        (["memory", "--wieghts", "bf16"], "--wieghts"),
        (["memory", "--model", "lama-3.1-70b"], "llama-3.1-70b"),
        (["memory", "--gpu", "H1000"], "H100"),
        (["memory", "--weights", "int5"], "int4"),
        (["memory", "--zero-stage", "9"], "at most 3"),
        (["memory", "--set", "workload.layers"], "has no value"),
        (["memory", "--set", "workload.layer=3"], "workload.layers"),
        (["memory", "--set", "workload.layers=0"], "at least 1 and at most 1000"),
        (["speed", "--model", "llama-3.1-8b"], "--gpu"),
        (["speed", "--gpu", "L4", "--engine", "vlm"], "vllm"),
        (["speed", "--gpu", "L4", "--model", "resnet-50"], "evaluate"),
        (["open", "?v=9"], "version"),
        (["open", "nonsense"], "not a link"),
        (["mix", "no/such/file.yaml"], "no file"),
        (["mix", "."], "cannot be read"),
        (["evaluate", "file.yaml", "--link", "?v=1"], "one of them"),
        (["tree", "oak"], "gpudash"),
    ],
)
def test_a_mistake_is_answered_with_one_sentence_that_says_what_to_do(refused, arguments, says):
    assert says in refused(*arguments)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\xff\xfe\x00", "UTF-8"),
        (b"\x00\x01\x02", "neither YAML nor JSON"),
        (b"a: 1\n  b: 2\n", "line 2"),
        (b"a: 1\na: 2\n", "twice"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b"a: &x [1]\nb: *x\n", "references"),
        (b"a: !!python/object/apply:os.system [ls]\n", "neither YAML nor JSON"),
        (b"a: !!binary aGVsbG8=\n", "not allowed"),
        (b"a: 2026-13-45\n", "neither YAML nor JSON"),
        (b"? {a: 1}\n: 2\n", "neither YAML nor JSON"),
        (b"[" * 200_000, "neither YAML nor JSON"),
        (b"[" * (DEPTH + 2) + b"]" * (DEPTH + 2), "levels deep"),
        (b"a: 1 " * (MEGABYTES * 200_000 + 1), "larger than"),
        (b"[" + b"1," * 400_000 + b"1]", "group"),
        (b"- 1\n" * 400_000, "more than"),
        (b"workload: 5\n", "group of names"),
        (b"5\n", "group of names"),
        (b"workload: {countries: [NO]}\n", "There is no input"),
        (b"requirements: {countries: [NO]}\n", "quotation marks"),
        (b"traffic: {runs: 1.5}\n", "whole number"),
        (b'{"traffic": {"peak_requests_per_s": NaN}}', "must be a number"),
        (b'{"traffic": {"peak_requests_per_s": 1e999}}', "must be a number"),
    ],
    ids=lambda value: repr(value)[:30] if isinstance(value, bytes) else None,
)
def test_a_file_that_cannot_be_meant_is_answered_with_one_sentence(refused, file, content, says):
    assert says in refused("link", file(content))


@pytest.mark.parametrize("command", ["mix", "tiers", "score"])
@pytest.mark.parametrize("content", ["", "5", "[1, 2]", "text", "{}", "a: 1"])
def test_tables_of_the_wrong_shape_are_answered_with_one_sentence(refused, file, command, content):
    assert refused(command, file(content))


def test_a_line_break_in_a_value_does_not_break_the_sentence(refused):
    assert "must be a number" in refused("link", "--set", "workload.params_b=7\n\x1b[31m0")


def test_sentences_come_in_chinese(refused):
    assert "必须大于 0" in refused("link", "--set", "workload.params_b=0", "--language", "zh")


# ---- the process -------------------------------------------------------------------------------------------------


def test_a_reader_who_stops_early_sees_no_traceback():
    command = f"{sys.executable} -m gpudash catalogue show | head -1"
    found = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, timeout=120, check=False)
    assert (found.stdout, found.stderr) == (b"{\n", b"")


def test_a_closed_output_is_a_sentence():
    command = f"{sys.executable} -m gpudash catalogue list >&-"
    found = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, timeout=120, check=False)
    assert found.returncode == 2
    assert found.stderr.count(b"\n") == 1 and b"Traceback" not in found.stderr


def test_answers_are_utf_8_whatever_the_terminal_speaks():
    found = process("link", "--set", "about.name=杭州", "--language", "zh", env={"PYTHONIOENCODING": "ascii"})
    assert found.returncode == 0
    found = process("link", "--set", "workload.params_b=0", "--language", "zh", env={"PYTHONIOENCODING": "ascii"})
    assert found.returncode == 2 and b"Traceback" not in found.stderr


def test_the_command_line_starts_without_the_libraries_of_the_dashboard():
    code = "import sys, gpudash.__main__ as m; m.main(['link']); print([n for n in sys.modules if n in {names!r}])"
    names = {"streamlit", "pandas", "scipy", "plotly"}
    found = subprocess.run(
        [sys.executable, "-c", code.format(names=names)], cwd=ROOT, capture_output=True, timeout=120, check=True
    )
    assert found.stdout.endswith(b"[]\n")


def test_a_full_evaluation_says_what_would_change_the_answer(ask):
    full = ask("evaluate", "--full", "--language", "zh")
    flips = full["flips"]
    assert {"input", "now", "threshold", "direction", "becomes", "sentence"} <= set(flips[0])
    assert next(flip["sentence"] for flip in flips if flip["input"] == "budget.amount").startswith("当预算低于")
    assert full["uncertainty"]["options"][0]["offer"] == full["recommendation"]["offer"]
    assert {"p10_usd", "p50_usd", "p90_usd", "right_fraction"} <= set(full["uncertainty"]["options"][0])
    plain = ask("evaluate")
    assert plain["flips"] is plain["uncertainty"] is None
