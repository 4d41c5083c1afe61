"""The DaemonSets that put NCCL for GPUDirect on nodes, from the table of what Google publishes."""

from typing import Any

from inferfleet.gke.facts.installers import Daemon, Installer, Step
from inferfleet.manifests.metadata import metadata
from inferfleet.manifests.workload import SKIP_AWAIT

# Where pods may have the priority of the system, and where Google's manifests have them.
NAMESPACE = "kube-system"
_APP = "k8s-app"
_ACCELERATOR, _ARCHITECTURE = "cloud.google.com/gke-accelerator", "kubernetes.io/arch"


def installer(row: Installer, *, stack: str) -> dict[str, Any]:
    """Return the DaemonSet of an installer under Google's name, so that one made by hand is found.

    Nothing waits for it: nodes may be there hours later, and engines wait for the libraries of theirs.
    """
    named = metadata(
        row.name,
        stack=stack,
        namespace=NAMESPACE,
        labels={_APP: row.name},
        annotations={SKIP_AWAIT: "true"},
    )
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": named,
        "spec": {
            "selector": {"matchLabels": {_APP: row.name}},
            "updateStrategy": {"type": "RollingUpdate"},
            "template": {"metadata": {"labels": {"name": row.name, _APP: row.name}}, "spec": _pod(row)},
        },
    }


def _pod(row: Installer) -> dict[str, Any]:
    wanted = [{"key": _ACCELERATOR, "operator": "In", "values": list(row.accelerators)}]
    if row.architecture:
        wanted.append({"key": _ARCHITECTURE, "operator": "In", "values": [row.architecture]})
    terms = {"nodeSelectorTerms": [{"matchExpressions": wanted}]}
    return {
        "priorityClassName": "system-node-critical",
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}},
        "tolerations": [{"operator": "Exists"}],
        "hostNetwork": True,
        "hostPID": True,
        "volumes": [
            {"name": name, "hostPath": {"path": folder} | ({"type": kind} if kind else {})}
            for name, folder, kind in row.volumes
        ],
        **({"initContainers": [_container(step) for step in row.steps]} if row.steps else {}),
        "containers": [_daemon(row.daemon)],
    }


def _daemon(daemon: Daemon) -> dict[str, Any]:
    named = {"name": daemon.name, "image": daemon.image}
    return named | (_as_root(daemon.mounts) if daemon.mounts else {})


def _as_root(mounts: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    return {
        "resources": {"requests": {"cpu": "150m"}},
        "securityContext": {"privileged": True},
        "volumeMounts": [{"name": name, "mountPath": path} for name, path in mounts],
    }


def _container(step: Step) -> dict[str, Any]:
    named = {"name": step.name, "image": step.image}
    if step.on_node:
        command = ["nsenter", "-at", "1", "--", "sh", "-c", step.script]
        return named | {"securityContext": {"privileged": True}, "command": command}
    return named | _as_root(step.mounts) | {"command": ["/bin/sh", "-c"], "args": [step.script]}
