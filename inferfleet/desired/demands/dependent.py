"""Pods that ask for other resources where they are placed than where their demand was worked out."""

from collections.abc import Iterator, Mapping
from typing import Any

from inferfleet.desired.demands.shares import PARTS, admitted
from inferfleet.desired.demands.worked import Worked, pool_of
from inferfleet.desired.pods import Pods
from inferfleet.documents.pods.diff import changes, leaves
from inferfleet.documents.problems import Problem
from inferfleet.fleet.shapes import RESOURCES
from inferfleet.fleet.spot import Spot

_STEP = (
    "Let what pods ask for follow from the deployment and its class; or name the plugin in the chains of the "
    "clusters, which are planned one by one"
)


def dependent(worked: Worked, made: tuple[Pods, ...]) -> Iterator[Problem]:
    """Yield what placed pods ask for otherwise than was planned, with the plugin that asks for it."""
    for placed in made:
        spot, role = placed.spot, placed.role
        alone = spot._replace(pools=((role, spot.pool(role)),))
        first = worked.alike.get(((spot.deployment, role), pool_of(alone)))
        if first is None or first == spot or placed.outcome.link_problems:
            continue
        position = placed.request.position
        planned = next((pods for pods in worked.made[first][0] if pods.request.position == position), None)
        if planned is None or planned.outcome.link_problems:
            continue
        before, after = (_asked(admitted(pods.outcome)) for pods in (planned, placed))
        for path, there, here in (leaf for change in changes(before, after) for leaf in leaves(change)):
            step = placed.outcome.changed_by(path) or planned.outcome.changed_by(path)
            if step is None:
                continue
            what = (
                f"plugin {step.plugin} makes {path} of pods of {spot.deployment} {_or_nothing(here)} on "
                f"{_place(alone)}, and {_or_nothing(there)} on {_place(first)}, by which the plan counted; "
                f"both are of class {placed.request.node_class.name}"
            )
            yield placed.link_of(step).problem(what, _STEP)


def _asked(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a pod spec says about resources that are counted, in the shape of a template."""
    asked: dict[str, Any] = {
        part: [
            {key: container[key] for key in ("name", "restartPolicy") if key in container}
            | {"resources": _counted(container.get("resources", {}))}
            for container in spec.get(part, ())
        ]
        for part in PARTS
    }
    asked["resources"] = _counted(spec.get("resources", {}))
    asked["overhead"] = _counted({"requests": spec.get("overhead", {})})["requests"]
    return {"spec": asked}


def _counted(resources: Mapping[str, Any]) -> dict[str, Any]:
    return {
        part: {name: amount for name, amount in resources.get(part, {}).items() if name in RESOURCES}
        for part in ("requests", "limits")
    }


def _place(spot: Spot) -> str:
    return "/".join(pool_of(spot))


def _or_nothing(amount: object) -> str:
    return "nothing" if amount is None else str(amount)
