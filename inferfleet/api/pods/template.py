"""The check of pod templates, for documents when they are loaded and for templates after each plugin."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from inferfleet.api.pods import containers, platform, scheduling, volumes
from inferfleet.api.pods.shape import Walk
from inferfleet.api.pods.spec import containers_of, pod_spec
from inferfleet.api.problems import Mistake
from inferfleet.api.wording import named, shown

RULES = {**containers.RULES, **platform.RULES, **scheduling.RULES, **volumes.RULES}
# What inferfleet generates where a template does not say it; Kubernetes itself would take 30.
GRACE_SECONDS = 130
_LONGEST = 256 * 1024
# What documents can say. Nobody would remove a finalizer of these pods, and names are given to each of them.
_METADATA = ("labels", "annotations")
_COST = "controller.kubernetes.io/pod-deletion-cost"
_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
# Annotations from before there were fields for what they say, and what says it today.
_OUTDATED = {
    "kubernetes.io/config.mirror": "Remove it: it marks pods that no API server made",
    "scheduler.alpha.kubernetes.io/tolerations": "Write spec.tolerations",
    "seccomp.security.alpha.kubernetes.io/pod": "Write spec.securityContext.seccompProfile",
}
_OUTDATED_SECCOMP = "container.seccomp.security.alpha.kubernetes.io/"


def template_mistakes(template: Any) -> Iterator[Mistake]:
    """Yield every mistake for which the API server would refuse a Deployment with this pod template."""
    walk = Walk(RULES)
    kept = walk.of(template, "PodTemplateSpec", ())
    spec = kept.get("spec", {}) if isinstance(kept, dict) else {}
    whole = [*walk.mistakes]
    for mistake in pod_spec(spec, grace=GRACE_SECONDS) if spec else ():
        whole.append(Mistake(mistake.what, mistake.next_step, ("spec", *mistake.at)))
    if isinstance(kept, dict):
        for key in kept.get("metadata", {}):
            if key not in _METADATA:
                what = f"pods of a deployment have labels and annotations, and no {shown(key)} of their own"
                whole.append(Mistake(what, "Remove it", ("metadata", key)))
        for mistake in annotation_mistakes(kept.get("metadata", {}).get("annotations", {}), spec):
            whole.append(Mistake(mistake.what, mistake.next_step, ("metadata", "annotations", *mistake.at)))
    yield from _of_their_owners(whole, template.get("spec") if isinstance(template, dict) else None, 1)


def spec_mistakes(spec: Any) -> Iterator[Mistake]:
    """Yield the mistakes of the `spec` of a pod template."""
    walk = Walk(RULES)
    kept = walk.of(spec, "PodSpec", ())
    whole = [*walk.mistakes, *(pod_spec(kept, grace=GRACE_SECONDS) if isinstance(kept, dict) else ())]
    yield from _of_their_owners(whole, spec, 0)


def without_nulls(value: Any) -> Any:
    """Return the value without fields that are null, which Kubernetes treats as absent."""
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [without_nulls(inner) for inner in value] if isinstance(value, list) else value


def annotation_mistakes(annotations: dict[str, str], spec: dict[str, Any]) -> Iterator[Mistake]:
    """Yield what is wrong with annotations that Kubernetes itself reads, and with their size."""
    size = sum(len(key.encode()) + len(text.encode()) for key, text in annotations.items())
    if size > _LONGEST:
        yield Mistake(f"annotations have {size} bytes, and may have {_LONGEST}", "Shorten them")
    profiles = {container.get("name"): container for _, container in containers_of(spec)}
    for key, text in annotations.items():
        if key in _OUTDATED or key.startswith(_OUTDATED_SECCOMP):
            next_step = _OUTDATED.get(key, "Write securityContext.seccompProfile of the container")
            yield Mistake("pods are no longer told this by an annotation", next_step, (key,))
        elif key == _COST and not (re.fullmatch(r"0|-?[1-9]\d{0,9}", text) and -(2**31) <= int(text) < 2**31):
            yield Mistake(f"the cost of a deletion is an integer, not {named(text)}", "Change it", (key,))
        elif key.startswith(_APPARMOR):
            yield from _apparmor(key, text, profiles, spec)


def _apparmor(
    key: str, text: str, known: dict[str | None, dict[str, Any]], spec: dict[str, Any]
) -> Iterator[Mistake]:
    name = key.removeprefix(_APPARMOR)
    if name not in known:
        yield Mistake(f"the pod has no container {shown(name)!r}", "Change it", (key,))
        return
    if text not in ("", "runtime/default", "unconfined") and not text.startswith("localhost/"):
        yield Mistake(f"{named(text)} is no AppArmor profile", "Write runtime/default", (key,))
    own = known[name].get("securityContext", {}).get("appArmorProfile")
    if own or spec.get("securityContext", {}).get("appArmorProfile"):
        what = "the profile is in securityContext.appArmorProfile too"
        yield Mistake(what, "Remove the annotation", (key,))


_OWNERS = {"containers": "container", "initContainers": "init container", "volumes": "volume"}


def _of_their_owners(mistakes: Iterable[Mistake], spec: Any, before: int) -> Iterator[Mistake]:
    """Yield the mistakes in the order they are in the spec, each with the container or volume it is in."""
    for mistake in mistakes:
        steps = mistake.at[before:]
        if len(steps) < 3 or steps[0] not in _OWNERS or steps[2] == "name":
            yield mistake
            continue
        entry = spec[steps[0]][steps[1]]
        name = entry.get("name") if isinstance(entry, dict) else None
        owner = f"{_OWNERS[str(steps[0])]} {shown(name)}: " if isinstance(name, str) and name else ""
        yield Mistake(f"{owner}{mistake.what}", mistake.next_step, mistake.at)
