"""What a replica needs with the pods that plugins have edited, and how much of it is for which plugin.

A container, or what a pod asks for as a whole, counts as that of the plugin that changed it last; a sidecar
that a webhook injects, as that of the plugin that says so. The share of a plugin is what the pod would
request less with all of its parts as they were generated: an init container that needs no more than the
running containers has none.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from inferfleet.desired.pods import Pods
from inferfleet.documents.problems import Where
from inferfleet.fleet.demands import Demand, Share
from inferfleet.fleet.shapes import Pod, pod_of
from inferfleet.plugins.chain import Outcome

PARTS = ("containers", "initContainers")


def edited(demand: Demand, of_position: Pods) -> Demand:
    """Return what a role needs with the pods of one position as they are, and how much of it is for which
    plugin.
    """
    before, _ = demand.of(of_position.position)
    pod, shares = _asked(before, of_position)
    if pod == before:
        return demand
    # Followers without a shape of their own are like the entry as it was written.
    follower = demand.follower or (demand.pod if demand.gang > 1 else None)
    if of_position.position == "Entry":
        return replace(demand, pod=pod, shares=shares, follower=follower)
    return replace(demand, follower=pod, follower_shares=shares)


def _asked(before: Pod, of_position: Pods) -> tuple[Pod, tuple[Share, ...]]:
    """Return what the pods request, and how much of it is for which plugin."""
    final = admitted(of_position.outcome)
    pod = pod_of(final, gpus=before.gpus)
    generated = of_position.generated["spec"]
    owners: dict[str, set[tuple[str, str]]] = {}
    lines: dict[str, list[Where]] = {}
    for part, name in _parts(final, generated):
        step = of_position.outcome.changed_by(f"spec.{part}[{name}]" if name else f"spec.{part}")
        if step:
            owners.setdefault(step.plugin, set()).add((part, name))
            if where := of_position.link_of(step).where:
                lines.setdefault(step.plugin, []).append(where)
    shares = []
    for plugin, theirs in owners.items():
        rest = pod_of(_without(final, generated, theirs), gpus=pod.gpus)
        if rest != pod:
            share = Pod(*(mine - other for mine, other in zip(pod, rest, strict=True)))
            shares.append(Share(plugin, share, tuple(sorted(set(lines.get(plugin, ()))))))
    return pod, tuple(shares)


def admitted(outcome: Outcome) -> dict[str, Any]:
    """Return the pod spec with the sidecars that webhooks inject, as the last link for each says.

    Each counts as a native one that starts before every init container, which is where Istio and Cloud
    Storage FUSE put theirs; a regular container would request no more. A chain refuses one whose name the
    template has; were it there, both would count, because nothing that a template asks for may be forgotten.
    """
    spec = outcome.template["spec"]
    sidecars = {name: requests for step in outcome.steps for name, requests in step.injected.items()}
    if not sidecars:
        return dict(spec)
    added = [
        {"name": name, "restartPolicy": "Always", "resources": {"requests": dict(requests)}}
        for name, requests in sidecars.items()
    ]
    return {**spec, "initContainers": [*added, *spec.get("initContainers", ())]}


def _parts(final: Mapping[str, Any], generated: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the parts of a pod that ask for something, and did not in the generated template.

    A part is a list of containers with the name of one, or a field of the pod with the name "".
    """
    for part in PARTS:
        before = {container["name"]: container for container in generated.get(part, ())}
        for container in final.get(part, ()):
            old = before.get(container["name"], {})
            if old.get("resources") != container.get("resources"):
                yield part, container["name"]
    for part in ("resources", "overhead"):
        if final.get(part) != generated.get(part):
            yield part, ""


def _without(
    final: Mapping[str, Any], generated: Mapping[str, Any], parts: set[tuple[str, str]]
) -> dict[str, Any]:
    """Return a pod spec with these parts as they were generated."""
    spec = dict(final)
    for part in PARTS:
        before = {container["name"]: container for container in generated.get(part, ())}
        spec[part] = [
            before[container["name"]] if (part, container["name"]) in parts else container
            for container in final.get(part, ())
            if (part, container["name"]) not in parts or container["name"] in before
        ]
    for part in ("resources", "overhead"):
        if (part, "") in parts:
            spec[part] = generated.get(part, {})
    return spec
