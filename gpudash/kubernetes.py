"""The answer as a Kubernetes manifest: a Deployment with its Service, or for training a Job with one pod per server."""

from typing import Any

from gpudash.brief import Brief
from gpudash.errors import GpudashError
from gpudash.launch import PORT, Run, run_of, slug, torchrun, written

LABEL = "accelerator"  # as in article 000, section 4.1


def kubernetes(brief: Brief) -> bytes:
    """A Deployment with its Service, or for training a Job with one pod per server.

    Whole GPUs as limits (Kubernetes takes the request from them), and affinity to nodes whose label `accelerator` names
    the card, as article 000 has it. Raises GpudashError where no device plugin is known for the card.
    """
    run = run_of(brief)
    if run.resource is None:
        raise GpudashError("launch.no_device_plugin", gpu=run.choice.gpu)
    documents = _job(run) if run.training else _service(run)
    label = brief.text("launch.label", label=f"{LABEL}={_label(run)}")
    busy = brief.text("launch.replicas", least=run.least_replicas, most=run.replicas)
    return written(run, brief, documents, label, *([] if run.training else [busy]))


def _label(run: Run) -> str:
    return run.gpu.get("label") or slug(run.choice.gpu)


def _pod(run: Run, container: dict[str, Any], gpus: int) -> dict[str, Any]:
    expression = {"key": LABEL, "operator": "In", "values": [_label(run)]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}},
        "tolerations": [{"key": run.resource, "operator": "Exists", "effect": "NoSchedule"}],
        "containers": [
            container
            | {
                "resources": {"limits": {run.resource: gpus}},
                "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
            }
        ],
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
    }


def _service(run: Run) -> list[dict]:
    labels = {"app": run.name}
    engine = run.engine or {"image": "IMAGE", "command": [], "health": "/health"}
    container = {
        "name": "server",
        "image": engine["image"],
        "command": engine["command"],
        "args": run.arguments,
        "env": [{"name": "MODEL", "value": run.model}],
        "ports": [{"name": "http", "containerPort": PORT}],
        "readinessProbe": {"httpGet": {"path": engine["health"], "port": "http"}, "periodSeconds": 10},
        "startupProbe": {
            "httpGet": {"path": engine["health"], "port": "http"},
            "periodSeconds": 10,
            "failureThreshold": 180,
        },
    }
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": run.name, "labels": labels},
        "spec": {
            "replicas": run.replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": _pod(run, container, run.choice.tensor_parallel)},
        },
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": run.name, "labels": labels},
        "spec": {"selector": labels, "ports": [{"name": "http", "port": 80, "targetPort": "http"}]},
    }
    return [deployment, service]


def _job(run: Run) -> list[dict]:
    labels = {"app": run.name}
    container = {
        "name": "trainer",
        "image": "IMAGE",
        "command": ["torchrun"],
        "args": [*torchrun(run, f"{run.name}-0.{run.name}"), "train.py"],
        "env": [{"name": "MODEL", "value": run.model}],
    }
    pod = _pod(run, container, run.choice.gpus_per_server) | {"subdomain": run.name, "restartPolicy": "Never"}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": run.name, "labels": labels},
        "spec": {
            "completionMode": "Indexed",
            "completions": run.choice.servers,
            "parallelism": run.choice.servers,
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
    headless = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": run.name, "labels": labels},
        "spec": {"clusterIP": "None", "selector": labels},
    }
    return [job, headless]
