"""Pods that the API server takes and that no node ever starts.

A kubelet starts no container that is to run as root and must not (`verifyRunAsNonRoot` in Kubernetes'
pkg/kubelet/kuberuntime/security_context_others.go, 1.36). Linux takes no argument or variable of a program
with a NUL in it, nor one of more than MAX_ARG_STRLEN, 32 pages with the NUL that ends it (execve(2)).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from inferfleet.api.wording import shown
from inferfleet.manifests.pod.parts import Contradiction, Spec, Steps, containers

# Bytes of one argument, or of one variable with its name and "=".
LONGEST_TEXT = 32 * 4096 - 1
# What a kubelet replaces by something else, of a length that is not known here.
_REPLACED = re.compile(r"\$(\$|\([^)]*\))")


def never_starts(spec: Spec) -> Iterator[Contradiction]:
    """Yield what keeps a pod from being scheduled, or one of its containers from being started."""
    if gates := spec.get("schedulingGates"):
        yield Contradiction(
            ("spec", "schedulingGates"),
            f"the pod waits for the scheduling gate {shown(gates[0]['name'])!r}",
            "nothing lifts gates of these pods, so they would never be scheduled",
            "Remove it; queues such as Kueue add gates of their own when a pod is created",
        )
    if spec.get("os", {}).get("name") == "windows":
        yield Contradiction(
            ("spec", "os", "name"),
            "the pod is for Windows",
            "nodes with accelerators run Linux, where kubelets end such a pod",
            "Remove os, or write linux",
        )
    for at, container in containers(spec):
        yield from _root(spec, at, container)
        yield from _texts(at, container)


def _root(spec: Spec, at: Steps, container: Mapping[str, Any]) -> Iterator[Contradiction]:
    """Yield the user of a container that is root and must not be. What a container says wins over its pod."""
    own, of_pod = container.get("securityContext", {}), spec.get("securityContext", {})
    within: Steps = at if own.get("runAsUser") is not None else ("spec",)
    user = own["runAsUser"] if within == at else of_pod.get("runAsUser")
    must_not = own["runAsNonRoot"] if own.get("runAsNonRoot") is not None else of_pod.get("runAsNonRoot")
    if must_not is True and type(user) is int and user == 0:
        yield Contradiction(
            (*within, "securityContext", "runAsUser"),
            f"container {container['name']!r} runs as user 0, which is root",
            "it has runAsNonRoot: true, with which kubelets do not start root",
            "Choose another user, or remove runAsNonRoot",
        )


def _texts(at: Steps, container: Mapping[str, Any]) -> Iterator[Contradiction]:
    """Yield arguments and variables with which no program can be started. None of their text is told."""
    name = container["name"]
    for part in ("command", "args"):
        for i, word in enumerate(container.get(part) or ()):
            yield from _text((*at, part, i), word, f"item {i} of {part} of container {name!r}")
    for i, variable in enumerate(container.get("env", ())):
        whole = f"{variable.get('name')}={variable.get('value') or ''}"
        what = f"variable {shown(str(variable.get('name')))!r} of container {name!r}"
        yield from _text((*at, "env", i, "value"), whole, what)


def _text(at: Steps, text: str, what: str) -> Iterator[Contradiction]:
    size = len(_REPLACED.sub("", text).encode("utf-8", "surrogatepass"))
    if "\0" in text:
        yield Contradiction(
            at, f"{what} has a NUL character", "Linux starts no program with one", "Remove it, or encode it"
        )
    elif size > LONGEST_TEXT:
        yield Contradiction(
            at,
            f"{what} has {size:,} bytes",
            f"Linux starts no program with a text of more than {LONGEST_TEXT:,}",
            "Put it into a file, such as one of a ConfigMap that the container mounts",
        )
