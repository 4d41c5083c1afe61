"""What changes beside nodes: routes of services with their weights, and what plugins make of pods."""

from collections.abc import Iterable, Mapping

from inferfleet.desired.values import Desired, DesiredCluster
from inferfleet.fleet import names
from inferfleet.fleet.decisions import Plan
from inferfleet.plugins.chain import Step
from inferfleet.review.digest.resources import fields_of
from inferfleet.review.digest.update import Update
from inferfleet.review.digest.values.models import Plugin, Route
from inferfleet.serving.routes import KIND as HTTP_ROUTE

_Key = tuple[str, str]  # (service, cluster)


def routes(update: Update) -> tuple[Route, ...]:
    """Return the routes of services that come, go, or lead elsewhere, by other weights or rules."""
    old, new = _backends(update.base.desired.plan), _backends(update.desired.plan)
    fields: dict[_Key, tuple[str, ...]] = {}
    for before, after in update.remaining:
        was, will = _manifests(before), _manifests(after)
        for service in was.keys() & will.keys():
            fields[service, after.connection.cluster] = fields_of(was[service], will[service])
    routed = {service for service, _ in new}
    return tuple(
        Route(*key, old.get(key, ()), new.get(key, ()), fields.get(key, ()), key[0] not in routed)
        for key in sorted({*old, *new})
        if old.get(key) != new.get(key) or fields.get(key)
    )


def _backends(plan: Plan) -> dict[_Key, tuple[str, ...]]:
    return {
        (route.service, route.cluster): tuple(
            f"{backend.deployment} {backend.weight}" for backend in route.backends
        )
        for route in plan.services
    }


def _manifests(cluster: DesiredCluster) -> dict[str, object]:
    """Return what the HTTPRoutes of services say, by service."""
    return {
        f"{made.namespace}/{labels[names.SERVICE]}": made.manifest["spec"]
        for made in cluster.objects
        if made.kind == HTTP_ROUTE
        and names.SERVICE in (labels := made.manifest["metadata"].get("labels") or {})
    }


def plugins(update: Update) -> tuple[Plugin, ...]:
    """Return the plugins that make something else of pods which both sides have, by name and versions."""
    old, new = _steps(update.base.desired), _steps(update.desired)
    found: dict[tuple[str, str, str], list[str]] = {}
    for workload in sorted(old.keys() & new.keys()):
        was, will = old[workload], new[workload]
        for plugin in sorted(was.keys() | will.keys()):
            before, after = was.get(plugin, ()), will.get(plugin, ())
            if _made(before) != _made(after):
                versions = (_version(before), _version(after))
                found.setdefault((plugin, *versions), []).append(workload)
    return tuple(Plugin(*key, tuple(workloads)) for key, workloads in sorted(found.items()))


def _steps(desired: Desired) -> dict[str, dict[str, tuple[Step, ...]]]:
    """Return by workload what each plugin did to its pods, where it did anything."""
    made: dict[str, dict[str, tuple[Step, ...]]] = {}
    for every in (desired.steps, desired.follower_steps):
        for spot, roles in every.items():
            for role, steps in roles.items():
                name = names.pulumi_object(spot.cluster, names.workload(spot, role), namespace=spot.namespace)
                by_plugin = made.setdefault(name, {})
                for step in steps:
                    if step.effect == "changed":
                        by_plugin[step.plugin] = (*by_plugin.get(step.plugin, ()), step)
    return made


def _made(steps: Iterable[Step]) -> list[object]:
    return [
        (
            step.version,
            tuple((change.path, change.after) for change in step.changes),
            step.companions,
            _plain(step.injected),
        )
        for step in steps
    ]


def _plain(injected: Mapping[str, object]) -> dict[str, object]:
    return dict(injected)


def _version(steps: tuple[Step, ...]) -> str:
    return steps[-1].version if steps else ""
