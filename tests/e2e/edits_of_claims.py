"""Edits of what workers that run claim, and of who schedules them."""

from edits_of_workers_stack import LEVEL
from plans_of_workers import (
    ANNOTATIONS,
    ARGS,
    CLAIM,
    CLAIMED,
    CLAIMED_GPUS,
    QUEUED,
    VOLCANO,
    WORKERS,
    created,
    deleted,
    edit,
    group,
    refused,
    single,
)

from bench.pages.changes import PodEffect

_ROLL = PodEffect.ROLL
CLAIMS = (
    edit(
        "GPUs by claims, under a replica",
        "joined", "spec.allocation", "DRA", _ROLL,
        created("ResourceClaimTemplate tall-decode-joined-5fa94a48"),
        single("tall-decode-joined", *(f"spec.template.{path}" for path in CLAIMED)),
    ),
    edit(
        "GPUs by the device plugin, under a replica",
        "dra", "spec.allocation", "DevicePlugin", _ROLL,
        group("claimed-decode-dra", both=CLAIMED),
        deleted("ResourceClaimTemplate claimed-decode-dra-773cf47b"),
    ),
    edit(
        "more GPUs in a claim",
        "claimed", f"{WORKERS}.topology.tensor", 2, _ROLL,
        group("claimed-decode-dra", both=(ARGS, CLAIM, CLAIMED_GPUS)),
        created("ResourceClaimTemplate claimed-decode-dra-25c7a10d"),
        deleted("ResourceClaimTemplate claimed-decode-dra-773cf47b"),
    ),
    edit(
        "a device that is claimed no more",
        "dra", "spec.devices[1].claim", "Synthetic", _ROLL,
        group("claimed-decode-dra", both=(CLAIM,)),
        created("ResourceClaimTemplate claimed-decode-dra-6d6db216"),
        deleted("ResourceClaimTemplate claimed-decode-dra-773cf47b"),
    ),
    edit(
        "more of another device in a claim",
        "dra", "spec.devices[1].count", 8, _ROLL,
        group("claimed-decode-dra", both=(CLAIM,)),
        created("ResourceClaimTemplate claimed-decode-dra-c3ebd544"),
        deleted("ResourceClaimTemplate claimed-decode-dra-773cf47b"),
    ),
)  # fmt: skip
SCHEDULERS = (
    edit(
        "Volcano for a deployment",
        "kimi", "spec.scheduler", {"type": "Volcano"}, _ROLL,
        created("PodGroup kimi-decode-plain"),
        group("kimi-decode-plain", both=QUEUED),
    ),
    edit(
        "Volcano for a cluster",
        "east", "spec.serving.scheduler", {"type": "Volcano"}, _ROLL,
        *(
            single(name, "spec.template.spec.schedulerName")
            for name in (
                "duo-decode-plain",
                "duo-encode-plain",
                "single-decode-plain",
                "split-decode-plain-189059",
                "split-prefill-plain-189059",
                "tall-decode-joined",
            )
        ),
        group("claimed-decode-dra", both=VOLCANO),
        group("kimi-decode-plain", both=QUEUED),
        group("wide-decode-plain", both=VOLCANO),
        created("PodGroup claimed-decode-dra", "PodGroup kimi-decode-plain", "PodGroup wide-decode-plain"),
        why="of deployments without a type of their own",
    ),
    edit(
        "nodes of one block, in a queue of Kueue",
        "queued", "spec.scheduler.topology", {"required": LEVEL}, _ROLL,
        group("queued-decode-plain", both=(ANNOTATIONS,)),
    ),
    refused(
        "KAI, which is not installed",
        "kimi", "spec.scheduler", {"type": "KAI", "queue": "team-a"},
        "cluster 'east' does not know Queue of scheduling.run.ai: pods of deployment ml/kimi are handed to "
        "KAI, which is not installed",
    ),
)  # fmt: skip
