"""Edits of a deployment that runs with prefill apart from decode, and of one that gets it."""

from collections.abc import Mapping

from edits_of_workers_stack import template
from gke_edits import GONE, Edit
from plans_of_workers import (
    ARGS,
    CONTAINER,
    ENGINE,
    LISTED,
    WORKERS,
    created,
    deleted,
    edit,
    single,
)

from bench.pages.changes import PodEffect

_NOW = "189059"
_BESIDE = "gets a new set of pods beside the old one"
_ANOTHER = PodEffect.ANOTHER
_WORKERS, _NEXT = "spec.prefill.workers", "docker.io/vllm/vllm-openai:v0.33.0"
_PREFILL = {"workers": {"topology": {"tensor": 1}, "template": template()}}
_OF_PICKER = ("Deployment", "Role", "RoleBinding", "Service", "ServiceAccount")


def _another_set(name: str, before: str, after: str) -> Mapping[str, str]:
    """All objects of a deployment come under names with another revision; "" is that of one without any."""
    return {
        **created(*_set(name, after)),
        **dict.fromkeys(_of_cluster(name, after), "create"),
        **deleted(*_set(name, before)),
        **dict.fromkeys(_of_cluster(name, before), "delete"),
        f"HTTPRoute east/ml/{name}": "update spec.rules.backendRefs.name",
    }


def _set(name: str, revision: str) -> tuple[str, ...]:
    end = f"-{revision}" if revision else ""
    roles = ("decode", "prefill") if revision else ("decode",)
    return (
        *(f"Deployment {name}-{role}-plain{end}" for role in roles),
        *(f"{kind} {name}{end}-epp" for kind in _OF_PICKER),
        f"InferencePool {name}{end}",
        f"ModelReplicas {name}-{'-'.join('plain' for _ in roles)}{end}",
    )


def _of_cluster(name: str, revision: str) -> tuple[str, ...]:
    end = f"-{revision}" if revision else ""
    kinds = ("ClusterRole", "ClusterRoleBinding")
    return tuple(f"{kind} east/inferfleet:ml:{name}{end}:epp" for kind in kinds)


PREFILL = (
    edit(
        "prefill apart from decode",
        "single", "spec.prefill", _PREFILL, _ANOTHER,
        _another_set("single", "", _NOW), created("ModelEndpoint single/route"),
        says=_BESIDE,
    ),
    edit(
        "prefill and decode as one",
        "split", "spec.prefill", GONE, _ANOTHER,
        _another_set("split", _NOW, ""),
        says=_BESIDE,
    ),
    edit(
        "another prefill worker",
        "split", f"{_WORKERS}.count", 2, PodEffect.COME_OR_GO,
        single(f"split-prefill-plain-{_NOW}", "spec.replicas"), created("PodDisruptionBudget split-prefill"),
    ),
    edit(
        "prefill for longer prompts",
        "split", "spec.prefill.decider", {"nonCachedTokens": 512}, PodEffect.NONE,
        single(f"split-{_NOW}-epp", f"spec.template.{ARGS}"),
    ),
    edit(
        "another image of the proxy",
        "split", "spec.prefill.proxy", {"image": "some/llm-d-routing-sidecar:v0.7.1"}, PodEffect.ROLL,
        single(f"split-decode-plain-{_NOW}", "spec.template.spec.initContainers.image"),
    ),
    edit(
        "another engine port behind the proxy",
        "split", "spec.prefill.proxy", {"enginePort": 8300}, PodEffect.ROLL,
        single(
            f"split-decode-plain-{_NOW}",
            *(f"spec.template.{path}" for path in (ARGS, LISTED, "spec.initContainers.args")),
        ),
    ),
    edit(
        "images always pulled for prefill",
        "split", f"{_WORKERS}.template.{ENGINE}.imagePullPolicy", "Always", PodEffect.ROLL,
        single(f"split-prefill-plain-{_NOW}", f"spec.template.{CONTAINER}.imagePullPolicy"),
    ),
    Edit(
        "another image for prefill and decode",
        tuple(("split", f"{workers}.template.{ENGINE}.image", _NEXT) for workers in (_WORKERS, WORKERS)),
        _another_set("split", _NOW, "68c06a"),
        effect=_ANOTHER,
        why="it changes the KV cache",
        says=_BESIDE,
    ),
    edit(
        "KV caches by storage",
        "split", "spec.prefill.connector", "SharedStorage", _ANOTHER,
        _another_set("split", _NOW, "919d76"),
        says=_BESIDE,
    ),
)  # fmt: skip
