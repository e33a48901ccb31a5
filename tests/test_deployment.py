"""The files of deploy/: accepted by the checkers of their formats, and in step with the program."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

import app
import gpudash
from gpudash.sheet_limits import MEGABYTES
from gpudash.tables import DATA

ROOT = DATA.parent
DEPLOY = ROOT / "deploy"
KUBERNETES = "1.37"
HADOLINT = Path(sys.executable).with_name("hadolint")
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
CONTAINERFILE = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
MANIFESTS = {
    document["kind"]: document
    for document in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8"))
}
POD = MANIFESTS["Deployment"]["spec"]["template"]["spec"]


def nginx(file: str) -> str:
    return (DEPLOY / "nginx" / file).read_text(encoding="utf-8")


def test_a_linter_finds_nothing_in_the_container_file():
    if not HADOLINT.exists():
        pytest.skip("hadolint is not installed: it comes with requirements-dev.txt")
    found = subprocess.run([HADOLINT, DEPLOY / "Containerfile"], capture_output=True, text=True, check=False)
    assert found.stdout == ""


def test_the_container_holds_every_folder_of_the_program_and_the_build_is_given_each():
    copied = set(re.findall(r"^COPY (?!--from)(\S+)", CONTAINERFILE, flags=re.MULTILINE))
    given = set(re.findall(r"^!(\S+)", (ROOT / ".dockerignore").read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert copied == given
    assert [name for name in copied if not (ROOT / name).exists()] == []
    assert {"app.py", "gpudash", "pages", "ui", "data", ".streamlit"} <= copied


def test_the_container_runs_without_root_on_a_base_with_a_fixed_version():
    assert re.search(r"^USER 10001:10001$", CONTAINERFILE, flags=re.MULTILINE)
    assert re.search(r"^FROM \S+/python:3\.1[123]-\S+ AS base$", CONTAINERFILE, flags=re.MULTILINE)


@pytest.mark.parametrize("kind", MANIFESTS)
def test_the_manifests_are_valid_kubernetes(kind):
    kubernetes_validate.validate(MANIFESTS[kind], KUBERNETES, strict=True)


def test_a_pod_has_probes_and_limits_and_may_write_nothing_but_its_own_temporary_files():
    (container,) = POD["containers"]
    assert {"startupProbe", "readinessProbe", "livenessProbe"} <= container.keys()
    assert container["resources"].keys() == {"requests", "limits"}
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert POD["securityContext"]["runAsNonRoot"] is True
    assert [mount["mountPath"] for mount in container["volumeMounts"]] == ["/tmp"]
    assert "emptyDir" in POD["volumes"][0]


def test_probes_and_scraping_ask_for_routes_that_the_server_has():
    (container,) = POD["containers"]
    asked = {container[probe]["httpGet"]["path"] for probe in ("startupProbe", "readinessProbe", "livenessProbe")}
    asked.add(MANIFESTS["Deployment"]["spec"]["template"]["metadata"]["annotations"]["prometheus.io/path"])
    assert asked <= {route.path for route in app.ROUTES}


def test_policies_and_services_choose_the_pods_that_exist():
    labels = MANIFESTS["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert MANIFESTS["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert MANIFESTS["Service"]["spec"]["selector"] == labels
    assert MANIFESTS["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    assert MANIFESTS["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"] == labels


def test_no_replica_may_reach_out():
    assert MANIFESTS["NetworkPolicy"]["spec"]["egress"] == []
    replicas = [service for name, service in COMPOSE["services"].items() if name != "nginx"]
    networks = {network for service in replicas for network in service["networks"]}
    assert all(COMPOSE["networks"][network]["internal"] for network in networks)


def test_compose_starts_the_replicas_that_nginx_knows():
    known = set(re.findall(r"server (\S+):8501", nginx("replicas.conf")))
    assert known == COMPOSE["services"].keys() - {"nginx"}
    assert all(COMPOSE["services"][name]["read_only"] for name in COMPOSE["services"])


def test_containers_and_manifests_name_the_version_of_the_program():
    image = f"gpudash:{gpudash.__version__}"
    assert POD["containers"][0]["image"] == image
    assert COMPOSE["services"]["replica-1"]["image"] == image
    assert image in CONTAINERFILE


def test_nginx_accepts_its_configuration(tmp_path):
    if NGINX is None:
        pytest.skip("no nginx on this machine; make replicas installs it where it may")
    configuration = shutil.copytree(DEPLOY / "nginx", tmp_path / "nginx")
    replicas = configuration / "replicas.conf"  # its names are known inside compose only
    replicas.write_text(re.sub(r"replica-\d", "127.0.0.1", nginx("replicas.conf")), encoding="utf-8")
    command = [NGINX, "-t", "-p", tmp_path, "-c", configuration / "nginx.conf", "-e", "stderr"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr


def test_nginx_sends_the_headers_of_the_program_on_its_own_answers_too():
    sent = dict(re.findall(r'^add_header (\S+) "?([^"\n]*?)"? always;', nginx("security_headers.conf"), re.MULTILINE))
    ours = {name.decode(): value.decode() for name, value in app.SECURITY_HEADERS}
    assert ours == {name.lower(): value for name, value in sent.items() if name.lower() in ours}
    assert set(re.findall(r"proxy_hide_header (\S+);", nginx("security_headers.conf"))) <= sent.keys()


def test_every_proxy_takes_files_as_large_as_the_program_does():
    annotations = MANIFESTS["Ingress"]["metadata"]["annotations"]
    assert int(re.search(r"client_max_body_size (\d+)m", nginx("nginx.conf"))[1]) > MEGABYTES
    assert int(annotations["nginx.ingress.kubernetes.io/proxy-body-size"].removesuffix("m")) > MEGABYTES


def test_every_panel_of_the_grafana_dashboard_has_a_place_and_a_question():
    panels = json.loads((DEPLOY / "grafana.json").read_text(encoding="utf-8"))["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert all(target["expr"] for panel in panels for target in panel["targets"])
    cells = [
        (p["gridPos"]["x"] + dx, p["gridPos"]["y"] + dy)
        for p in panels
        for dx in range(p["gridPos"]["w"])
        for dy in range(p["gridPos"]["h"])
    ]
    assert len(cells) == len(set(cells))
