"""Every kind of mistake in what a document says of schedulers, and its message."""

import pytest
from fleet_text import BASE, Mistake

from inferfleet.documents import Where

# What is replaced, by what; then line, path, what, next step of the one problem that makes.
CASES = {
    "queue without a scheduler": (
        "serving: {", "serving: {scheduler: {queue: team-a}, ",
        15, "spec.serving.scheduler.queue", "queue is for a scheduler with queues, and type is None",
        "Write type: Volcano, KAI or Kueue, or remove queue",
    ),
    "name of a queue": (
        "serving: {", "serving: {scheduler: {type: Kueue, queue: Team A}, ",
        15, "spec.serving.scheduler.queue",
        "queue 'Team A' must be at most 63 lowercase letters, digits, '-' and '.', with a letter or digit at "
        "both ends",
        "Change it",
    ),
    "tier for a level": (
        "serving: {", "serving: {scheduler: {type: Kueue, queue: a, topology: {required: 1}}, ",
        15, "spec.serving.scheduler.topology.required",
        "level 1 is a tier of Volcano, and Kueue knows levels by the label keys of nodes",
        "Write a key such as cloud.google.com/gce-topology-block",
    ),
    "level that is no key": (
        "serving: {", "serving: {scheduler: {type: Kueue, queue: a, topology: {required: a b}}, ",
        15, "spec.serving.scheduler.topology.required",
        "required 'a b' must be a key such as tier or example.com/tier, with at most 63 characters after the "
        "'/'",
        "Write it like cloud.google.com/gce-topology-block",
    ),
    "tier below the lowest": (
        "serving: {", "serving: {scheduler: {type: Volcano, topology: {required: -1}}, ",
        15, "spec.serving.scheduler.topology.required", "tier -1 is below the lowest, 0", "Write 0 or more",
    ),
    "tier above the highest": (
        "serving: {", "serving: {scheduler: {type: Volcano, topology: {required: 1000000000000}}, ",
        15, "spec.serving.scheduler.topology.required", "tier 1000000000000 is above the highest, 2147483647",
        "Write less",
    ),
    "no level": (
        "serving: {", "serving: {scheduler: {type: Volcano, topology: {}}, ",
        15, "spec.serving.scheduler.topology", "topology names no level", "Write required or preferred",
    ),
    "two levels": (
        "serving: {", "serving: {scheduler: {type: Volcano, topology: {required: 1, preferred: 0}}, ",
        15, "spec.serving.scheduler.topology", "Volcano takes one of required and preferred, not both",
        "Keep one of them",
    ),
    "topology of KAI without a name": (
        "serving: {", "serving: {scheduler: {type: KAI, queue: a, topology: {required: x}}, ",
        15, "spec.serving.scheduler.topology", "topology of KAI needs the name of a Topology",
        "Add name: `kubectl get topologies.kai.scheduler` has them",
    ),
    "name of a topology of Kueue": (
        "serving: {", "serving: {scheduler: {type: Kueue, queue: a, topology: {name: x, required: x}}, ",
        15, "spec.serving.scheduler.topology.name", "Kueue is not told the name of a topology",
        "Remove name",
    ),
    "gang of nobody": (
        "  replicas: 2", "  replicas: 2\n  scheduler: {type: Volcano, gang: {minRoleReplicas: {decode: 0}}}",
        22, "spec.scheduler.gang.minRoleReplicas.decode", "0 workers of role decode are none to wait for",
        "Write 1 or more",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_mistake_in_a_scheduler_is_told_like_every_other(mistake: Mistake, case: str) -> None:
    old, new, line, *told = CASES[case]
    assert mistake(BASE, old, new) == (Where("a.yaml", line), *told)
