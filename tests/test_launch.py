"""The files that a team runs: valid where a schema exists, with the numbers of the answer; no name does anything."""

import csv
import io
import math
from datetime import date, timedelta

import hcl2
import kubernetes_validate
import pytest
import yaml
from icalendar import Calendar

from gpudash import GpudashError, load_catalogue
from gpudash.focus import focus_csv
from gpudash.kubernetes import kubernetes
from gpudash.launch import dstack, hcl, skypilot, slug, terraform
from gpudash.renewals import calendar
from gpudash.roadmap import commitments, horizon_starts, reviews
from gpudash.tables import DATA, read_rows, read_yaml
from gpudash.text import LANGUAGES
from tests.test_brief import HOSTILE, SCENARIOS, brief_of

KUBERNETES = "1.37"
YAML_FILES = (kubernetes, skypilot, dstack)


def documents(content: bytes) -> list[dict]:
    return list(yaml.safe_load_all(content.decode("utf-8")))


def hcl_of(content: bytes) -> dict:
    return {name: value.strip('"') if isinstance(value, str) else value
            for name, value in hcl2.loads(content.decode("utf-8")).items()}  # fmt: skip


# ---- Kubernetes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_manifest_is_valid_kubernetes(name):
    for document in documents(kubernetes(brief_of(name))):
        kubernetes_validate.validate(document, KUBERNETES, strict=True)


def test_a_service_runs_its_replicas_on_whole_cards_of_the_right_kind():
    brief = brief_of("chat-70b-around-the-clock", requirements__gpus_in=["H100 SXM"])
    choice = brief.result.recommendation
    deployment, service = documents(kubernetes(brief))
    pod = deployment["spec"]["template"]["spec"]
    assert deployment["spec"]["replicas"] == choice.servers * choice.replicas_per_server
    assert pod["containers"][0]["resources"] == {"limits": {"nvidia.com/gpu": choice.tensor_parallel}}
    terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert terms == [{"matchExpressions": [{"key": "accelerator", "operator": "In", "values": ["h100"]}]}]
    assert service["spec"]["selector"] == deployment["spec"]["selector"]["matchLabels"]
    arguments = pod["containers"][0]["args"]
    assert arguments[arguments.index("--tensor-parallel-size") + 1] == str(choice.tensor_parallel)
    assert arguments[arguments.index("--max-num-seqs") + 1] == str(choice.batch_size)


def test_a_training_run_is_a_job_with_one_pod_per_server():
    brief = brief_of("pretrain-13b")
    job, headless = documents(kubernetes(brief))
    choice = brief.result.recommendation
    assert (job["kind"], job["spec"]["completions"], job["spec"]["parallelism"]) == (
        "Job",
        choice.servers,
        choice.servers,
    )
    container = job["spec"]["template"]["spec"]["containers"][0]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": choice.gpus_per_server}
    assert f"--nnodes={choice.servers}" in container["args"]
    assert headless["spec"]["clusterIP"] == "None"


def test_the_manifest_repeats_nothing_by_reference():
    assert b"&id" not in kubernetes(brief_of("chat-70b-around-the-clock"))


@pytest.mark.parametrize(
    "text, name", [("llama-3.1-70b", "llama-3-1-70b"), ("杭州", "model"), ("2b", "model-2b"), ("", "model")]
)
def test_a_name_is_made_fit_for_kubernetes(text, name):
    assert slug(text) == name


# ---- SkyPilot, dstack, Terraform ---------------------------------------------------------------------------------


@pytest.mark.parametrize("make", YAML_FILES)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_stays_a_comment(name, language, make):
    changes = {"about__name": name[:180] + "\nrun: rm -rf /", "about__notes": name}
    plain, named = (
        brief_of("chat-70b-around-the-clock", language),
        brief_of("chat-70b-around-the-clock", language, **changes),
    )
    assert documents(make(plain)) == documents(make(named))


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_skypilot_task_is_valid_where_skypilot_is_installed(name):
    schemas = pytest.importorskip("sky.utils.schemas")
    jsonschema = pytest.importorskip("jsonschema")
    (task,) = documents(skypilot(brief_of(name)))
    jsonschema.validate(task, schemas.get_task_schema())
    jsonschema.validate(task["resources"], schemas.get_resources_schema())


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_dstack_file_is_valid_where_dstack_is_installed(name):
    configurations = pytest.importorskip("dstack._internal.core.models.configurations")
    (task,) = documents(dstack(brief_of(name)))
    configurations.parse_apply_configuration(task)


def test_the_skypilot_task_asks_for_the_cards_of_one_replica():
    brief = brief_of("chat-70b-around-the-clock", requirements__gpus_in=["H100 SXM"])
    (task,) = documents(skypilot(brief))
    choice = brief.result.recommendation
    assert task["resources"]["accelerators"] == {"H100": choice.tensor_parallel}
    assert task["service"]["replicas"] == choice.servers * choice.replicas_per_server
    (task,) = documents(skypilot(brief_of("pretrain-13b")))
    assert task["num_nodes"] == brief_of("pretrain-13b").result.recommendation.servers


def test_the_dstack_service_scales_with_the_requests_one_replica_can_carry():
    brief = brief_of("chat-70b-around-the-clock")
    (task,) = documents(dstack(brief))
    choice, traffic = brief.result.recommendation, brief.result.scenario.traffic
    carried = choice.requests_per_s_per_server / choice.replicas_per_server * traffic.target_utilisation_fraction
    assert task["scaling"]["target"] == pytest.approx(carried, abs=1e-3)
    assert task["replicas"] == f"{traffic.minimum_replicas}..{choice.servers * choice.replicas_per_server}"


@pytest.mark.parametrize("name", HOSTILE)
def test_terraform_values_are_the_answer_and_expand_nothing(name):
    datasets = [{"name": ('${file("/etc/passwd")}%{if true}' + name)[:80], "size_gb": 10}]
    brief = brief_of("bank-in-china", about__name=name, storage__datasets=datasets)
    found = hcl_of(terraform(brief))
    choice = brief.result.recommendation
    assert (found["server_count"], found["gpus_per_server"]) == (choice.servers, choice.gpus_per_server)
    assert (found["instance_type"], found["region"]) == (choice.instance, choice.region)
    assert [item["servers"] for item in found["commitments"]] == [item.servers for item in commitments(brief.result)]


def test_a_template_in_a_terraform_value_is_written_as_text():
    assert hcl('${a} %{b} "c" \\ \n') == '"$${a} %%{b} \\"c\\" \\\\  "'


@pytest.mark.parametrize("make", [*YAML_FILES, terraform, focus_csv])
def test_where_nothing_can_run_there_is_a_sentence_instead_of_a_file(make):
    with pytest.raises(GpudashError):
        make(brief_of("chat-70b-around-the-clock", workload__tpot_ms=0.001))


def test_every_name_in_the_data_is_one_of_ours_and_has_a_source():
    catalogue = load_catalogue()
    for row in read_rows(DATA / "launch" / "accelerators.csv"):
        assert catalogue.hardware.names[catalogue.hardware.index(row["gpu"])] == row["gpu"]
    assert {row["vendor"] for row in read_rows(DATA / "launch" / "vendors.csv")} <= set(catalogue.hardware.vendor)
    assert {row["provider"] for row in read_rows(DATA / "launch" / "providers.csv")} <= set(catalogue.providers)
    tables = [read_rows(DATA / "launch" / f"{name}.csv") for name in ("accelerators", "vendors", "providers")]
    assert all(row["source"] for rows in tables for row in rows)
    assert all(engine["source"] for engine in read_yaml(DATA / "launch" / "engines.yaml").values())


# ---- calendar ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_calendar_has_every_end_of_a_commitment_with_a_reminder_thirty_days_ahead(name, language):
    brief = brief_of(name, language)
    events = Calendar.from_ical(calendar(brief)).walk("VEVENT")
    days = {event.decoded("dtstart") for event in events}
    for item in commitments(brief.result):
        if item.kind != "monthly":
            assert {item.ends, item.ends - timedelta(days=30)} <= days
    assert set(reviews(brief.result)) <= days
    alarms = [alarm.decoded("trigger") for event in events for alarm in event.walk("VALARM")]
    assert set(alarms) <= {timedelta(days=-30), timedelta(days=-7)}
    assert len({str(event["uid"]) for event in events}) == len(events)


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_adds_an_event_or_a_line_to_the_calendar(name):
    named = brief_of("chat-70b-around-the-clock", about__name=name[:170] + "\r\nBEGIN:VALARM\nX:1")
    content = calendar(named)
    assert all(len(line) <= 75 for line in content.split(b"\r\n"))
    assert b"\n" not in content.replace(b"\r\n", b"")
    found, plain = (Calendar.from_ical(calendar(brief)) for brief in (named, brief_of("chat-70b-around-the-clock")))
    assert len(list(found.walk())) == len(list(plain.walk()))


# ---- FOCUS -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_cost_rows_add_up_to_the_bill_and_its_tax(name):
    brief = brief_of(name, finance__tax_fraction=0.1, finance__currency="USD", finance__credit_usd=500)
    rows = list(csv.DictReader(io.StringIO(focus_csv(brief).decode("utf-8-sig"))))
    bill = brief.result.tco[0]
    taxes = [float(row["BilledCost"]) for row in rows if row["ChargeCategory"] == "Tax"]
    costs = [float(row["BilledCost"]) for row in rows if row["ChargeCategory"] != "Tax"]
    assert math.fsum(costs) == pytest.approx(bill.total_usd, rel=1e-12)
    assert math.fsum(taxes) == pytest.approx(bill.tax_usd, rel=1e-9)
    assert {row["BillingCurrency"] for row in rows} == {"USD"}
    assert {row["ChargeCategory"] for row in rows} <= {"Usage", "Purchase", "Tax", "Credit"}
    assert date.fromisoformat(rows[0]["ChargePeriodStart"][:10]) == horizon_starts(brief.result)
