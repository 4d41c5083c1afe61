"""The explanation of one deployment as values for machines."""

from typing import Any

from inferfleet.cli.show.explanation import ASKED, Explanation
from inferfleet.cli.show.plan import reason_values, spot_values, unplaced_values
from inferfleet.desired.values import ReadyHook
from inferfleet.fleet.demands import Demand
from inferfleet.fleet.roles import DECODE
from inferfleet.fleet.shapes import Pod, PoolKey, amounts
from inferfleet.plugins.chain import Step


def as_values(explained: Explanation) -> dict[str, Any]:
    """Return the facts that `inferfleet explain` prints as values for JSON."""
    return {
        "deployment": explained.key,
        "replicas": explained.document.spec.wanted,
        "shape": _shape_values(explained, DECODE),
        "roles": {
            role: _shape_values(explained, role)
            | {
                "acrossNodes": [
                    {"nodeGpus": gpus, "podsPerWorker": wide.gang, "gpusPerPod": wide.pod.gpus}
                    for gpus, wide in explained.spread[role].items()
                ]
            }
            for role in explained.demands
        },
        "withPlugins": [_edited_values(*edited) for edited in explained.edited],
        "placements": [
            spot_values(placed.spot)
            | {
                "replicas": placed.replicas,
                "before": placed.before,
                "runnerUp": placed.runner_up
                and spot_values(placed.runner_up.spot) | {"why": placed.runner_up.why},
                "roles": [
                    {
                        "role": role.name,
                        "class": role.class_name,
                        "pods": role.pods,
                        "gpus": role.gpus,
                        "awaitSeconds": role.await_seconds,
                        "commands": list(role.commands),
                        "plugins": [_step_values(step, role.hook(step)) for step in role.steps],
                        "followerPlugins": [
                            _step_values(step, role.hook(step)) for step in role.follower_steps
                        ],
                    }
                    for role in placed.roles
                ],
            }
            for placed in explained.placed
        ],
        "elsewhere": reason_values(explained.reasons),
        "unplaced": explained.unplaced.replicas if explained.unplaced else 0,
        "whyUnplaced": explained.unplaced
        and unplaced_values(explained.unplaced, explained.fix, most=len(explained.unplaced.reasons)),
        "services": list(explained.services),
    }


def _shape_values(explained: Explanation, role: str) -> dict[str, int]:
    demand = explained.demands[role]
    return {
        "gpusPerPod": demand.pod.gpus,
        "podsPerWorker": demand.gang,
        "workersPerReplica": demand.workers,
        "gpusPerReplica": demand.gpus,
        "sparePodsPerPlacement": demand.spare,
    }


def _step_values(step: Step, hook: ReadyHook | None) -> dict[str, Any]:
    return {
        "plugin": step.plugin,
        "version": step.version,
        "origin": step.origin,
        "path": step.path,
        "config": step.config,
        "effect": step.effect,
        "changes": [
            {"path": change.path, "before": change.before, "after": change.after} for change in step.changes
        ],
        "companions": [{"object": beside.title, "when": beside.when} for beside in step.companions],
        "injected": {container: dict(requests) for container, requests in step.injected.items()},
        "remarks": list(step.remarks),
        "readyHook": None if hook is None else "held" if hook.held else "called",
    }


def _edited_values(role: str, pools: tuple[PoolKey, ...], edited: Demand) -> dict[str, Any]:
    follower = edited.follower
    return {
        "role": role,
        "pools": [{"cluster": cluster, "pool": pool} for cluster, pool in pools],
        "pod": _amounts(edited.pod),
        "byPlugin": {share.plugin: _amounts(share.pod) for share in edited.shares},
        "follower": None
        if follower is None
        else {
            "pod": _amounts(follower),
            "byPlugin": {share.plugin: _amounts(share.pod) for share in edited.follower_shares},
        },
    }


def _amounts(pod: Pod) -> dict[str, str]:
    return {name: amounts(field)(getattr(pod, field)) for field, name in ASKED.items()}
