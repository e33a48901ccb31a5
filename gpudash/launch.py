"""The answer as files that a team can run: SkyPilot, dstack, Terraform (Kubernetes is in kubernetes.py).

How an engine is started, what a card is called by whom, and which provider is known to which tool is data
(data/launch). A name that is not known is left out, never guessed; without it the file says so in its first lines.
"""

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from gpudash.brief import Brief
from gpudash.engines import engine_name
from gpudash.errors import GpudashError
from gpudash.figures.choices import short_name
from gpudash.result import Choice
from gpudash.roadmap import commitments
from gpudash.tables import DATA, read_rows, read_yaml

PORT = 8000
NAME_CHARACTERS = 50  # a name in Kubernetes may have 63; ours get endings
_SLICE = " MIG "
_UNKNOWN: dict[str, str] = {}


class _Dumper(yaml.SafeDumper):
    """YAML that writes a value out wherever it stands, without references."""

    def ignore_aliases(self, data) -> bool:
        return True


@dataclass(frozen=True)
class Run:
    """What is to be started, in the words that all four files share."""

    name: str
    choice: Choice
    training: bool
    model: str
    engine: dict[str, Any] | None
    arguments: list[str]
    gpu: dict[str, str]
    provider: dict[str, str]
    resource: str | None
    replicas: int
    least_replicas: int
    uses_spot: bool


@cache
def _rows(name: str) -> dict[str, dict[str, str]]:
    """A table of data/launch by its first column."""
    rows = read_rows(DATA / "launch" / f"{name}.csv")
    return {next(iter(row.values())): row for row in rows}


def run_of(brief: Brief) -> Run:
    """What to start; raises GpudashError where nothing can do the work."""
    result, choice = brief.result, brief.result.leading
    if choice is None:
        raise GpudashError("launch.nothing_to_run")
    work, traffic = result.scenario.workload, result.scenario.traffic
    training = work.is_training
    engine = None if training else read_yaml(DATA / "launch" / "engines.yaml").get(engine_name(work.engine))
    name = slug(result.sizing.model.name)
    return Run(
        name=name,
        choice=choice,
        training=training,
        model=result.sizing.model.name,
        engine=engine,
        arguments=_arguments(engine, name, choice, result) if engine else [],
        gpu=_rows("accelerators").get(choice.gpu.partition(_SLICE)[0], _UNKNOWN),
        provider=_rows("providers").get(choice.provider, _UNKNOWN),
        resource=_resource(choice, result),
        replicas=choice.servers * choice.replicas_per_server,
        least_replicas=0 if traffic.scale_to_zero else max(traffic.minimum_replicas, 1),
        uses_spot=choice.purchase_split.get("spot", 0.0) > 0.5,
    )


def slug(text: str) -> str:
    """A name that Kubernetes takes: small letters, digits and hyphens."""
    words = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:NAME_CHARACTERS].strip("-")
    return words if words[:1].isalpha() else f"model-{words}".strip("-")


def _arguments(engine: dict[str, Any], name: str, choice: Choice, result) -> list[str]:
    work, precision = result.scenario.workload, result.sizing.weight_precision
    tokens = work.context_tokens + work.output_tokens
    filled = {
        "name": name,
        "tensor_parallel": choice.tensor_parallel,
        "tokens": tokens,
        "all_tokens": tokens * choice.batch_size,
        "batch": choice.batch_size,
    }
    arguments = [argument.format_map(filled) for argument in engine["arguments"]]
    return arguments + engine["weights"].get(precision, []) + engine["kv"].get(work.kv_precision, [])


def _resource(choice: Choice, result) -> str | None:
    """What Kubernetes calls one of these cards, or one slice of it; None where we know no device plugin."""
    hardware = result.catalogue.hardware
    vendor = str(hardware.vendor[hardware.index(choice.gpu)])
    resource = _rows("vendors").get(vendor, {}).get("kubernetes_resource")
    profile = choice.gpu.partition(_SLICE)[2]
    return resource and (f"{resource.rpartition('/')[0]}/mig-{profile}" if profile else resource)


def written(run: Run, brief: Brief, documents: list[dict], *notes: str) -> bytes:
    """YAML documents under comments that say what they are for; user text in comments stays on its line."""
    said = [brief.text("launch.header", choice=short_name(run.choice), region=run.choice.region), brief.title, *notes]
    said += [brief.text("launch.model")] if not run.training else []
    comments = "".join(f"# {one_line(line)}\n" for line in said)
    bodies = [yaml.dump(body, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120) for body in documents]
    return (comments + "---\n".join(bodies)).encode("utf-8")


def one_line(text: str) -> str:
    """Text without signs that would end a comment or a line."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def torchrun(run: Run, master: str) -> list[str]:
    """The arguments of torchrun for one process per card on all servers."""
    return [
        f"--nnodes={run.choice.servers}",
        f"--nproc-per-node={run.choice.gpus_per_server}",
        "--rdzv-backend=c10d",
        f"--rdzv-endpoint={master}:29500",
    ]


# ---- SkyPilot and dstack -----------------------------------------------------------------------------------------


def skypilot(brief: Brief) -> bytes:
    """A SkyPilot task: a service with replicas, or for training one task over all servers."""
    run = run_of(brief)
    resources: dict[str, Any] = {}
    cloud = run.provider.get("skypilot")
    if cloud:
        resources["infra"] = f"{cloud}/{run.choice.region}" if run.provider["skypilot_region"] else cloud
    if run.gpu:
        resources["accelerators"] = {run.gpu["skypilot"]: _gpus(run)}
    resources["use_spot"] = run.uses_spot
    task: dict[str, Any] = {"name": run.name}
    if run.training:
        master = '$(echo "$SKYPILOT_NODE_IPS" | head -n1)'
        task |= {"num_nodes": run.choice.servers, "resources": resources, "envs": {"MODEL": run.model}}
        task["run"] = " ".join(["torchrun", *torchrun(run, master), "train.py"])
    else:
        resources["ports"] = PORT
        health = (run.engine or {"health": "/health"})["health"]
        task |= {"service": {"readiness_probe": health, "replicas": run.replicas}}
        task |= {"resources": resources, "envs": {"MODEL": run.model}, "run": _shell(run)}
    return written(run, brief, [task], *_unknown(run, cloud, brief))


def dstack(brief: Brief) -> bytes:
    """A dstack service that scales with the requests, or for training a task over all servers."""
    run = run_of(brief)
    resources = {"gpu": f"{run.gpu['dstack']}:{_gpus(run)}"} if run.gpu else {"gpu": {"count": _gpus(run)}}
    backend = run.provider.get("dstack")
    task: dict[str, Any] = {"type": "task" if run.training else "service", "name": run.name}
    if run.training:
        task["nodes"] = run.choice.servers
        task["commands"] = [" ".join(["torchrun", *torchrun(run, "$DSTACK_MASTER_NODE_IP"), "train.py"])]
    else:
        task |= {"image": run.engine["image"]} if run.engine else {}
        task |= {"port": PORT, "commands": [_shell(run)]}
        least = min(run.least_replicas, run.replicas)
        task["replicas"] = f"{least}..{run.replicas}"
        per_server = run.choice.requests_per_s_per_server
        if per_server:
            target = brief.result.scenario.traffic.target_utilisation_fraction
            rate = round(per_server / run.choice.replicas_per_server * target, 3)
            task["scaling"] = {"metric": "rps", "target": max(rate, 0.001)}
    task |= {"env": [f"MODEL={run.model}"], "resources": resources}
    task |= {"backends": [backend]} if backend else {}
    task["spot_policy"] = "auto" if run.uses_spot else "on-demand"
    return written(run, brief, [task], *_unknown(run, backend, brief))


def _gpus(run: Run) -> int:
    """Cards that one replica, or in training one server, takes."""
    return run.choice.gpus_per_server if run.training else run.choice.tensor_parallel


def _shell(run: Run) -> str:
    """The engine's command for a shell, where variables are written without brackets."""
    command = [*(run.engine["command"] if run.engine else ["COMMAND"]), *run.arguments]
    return " ".join('"$MODEL"' if word == "$(MODEL)" else word for word in command)


def _unknown(run: Run, cloud: str | None, brief: Brief) -> list[str]:
    """What had to be left out because the tool has no name for it that we know."""
    notes = [] if cloud else [brief.text("launch.unknown_provider", provider=run.choice.provider)]
    return notes + ([] if run.gpu else [brief.text("launch.unknown_gpu", gpu=run.choice.gpu)])


# ---- Terraform ---------------------------------------------------------------------------------------------------


def terraform(brief: Brief) -> bytes:
    """Values for variables of any Terraform module: what to order, how many, where, bought how."""
    run, scenario = run_of(brief), brief.result.scenario
    bought = [
        {
            "term": item.kind,
            "servers": item.servers,
            "starts_on": item.starts.isoformat(),
            "ends_on": item.ends.isoformat(),
        }
        for item in commitments(brief.result)
    ]
    values = {
        "name": run.name,
        "cloud_provider": run.choice.provider,
        "region": run.choice.region,
        "instance_type": run.choice.instance,
        "server_count": run.choice.servers,
        "server_count_last_month": run.choice.last_servers,
        "gpu_type": run.choice.gpu,
        "gpus_per_server": run.choice.gpus_per_server,
        "spot_fraction": run.choice.purchase_split.get("spot", 0.0),
        "commitments": bought,
        "datasets": [{"name": data.name, "size_gb": data.size_gb} for data in scenario.storage.datasets],
    }
    said = [brief.text("launch.header", choice=short_name(run.choice), region=run.choice.region), brief.title]
    comments = "".join(f"# {one_line(line)}\n" for line in said)
    width = max(map(len, values))
    lines = "".join(f"{name:<{width}} = {hcl(value)}\n" for name, value in values.items())
    return (comments + lines).encode("utf-8")


def hcl(value: Any) -> str:
    """A value as HCL; JSON is HCL except that ${ and %{ would begin a template, and objects take =."""
    if isinstance(value, list):
        return "[" + ", ".join(map(hcl, value)) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {hcl(item)}" for name, item in value.items()) + " }"
    if isinstance(value, str):
        value = "".join(sign if sign.isprintable() else " " for sign in value)
    return re.sub(r"([$%])\{", r"\1\1{", json.dumps(value, ensure_ascii=False))
