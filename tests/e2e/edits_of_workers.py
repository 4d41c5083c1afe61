"""Edits of workers that run: of their topology, templates, engine and roles."""

from edits_of_claims import CLAIMS, SCHEDULERS
from edits_of_prefill import PREFILL
from edits_of_workers_stack import ENGINE as DECLARED
from edits_of_workers_stack import selects, template
from gke_edits import GONE, Edit
from plans_of_workers import (
    ACTIVE,
    ANNOTATIONS,
    ARGS,
    CONTAINER,
    ENCODE,
    ENGINE,
    GPUS,
    GROUP,
    LISTED,
    PROBED,
    ROLLING,
    TEMPLATES,
    WORKERS,
    created,
    deleted,
    edit,
    group,
    pool,
    single,
)

from bench.pages.changes import PodEffect

_RERANK = {"workers": {"topology": {"tensor": 1}, "template": template()}}
_COME, _ROLL, _ANOTHER = PodEffect.COME_OR_GO, PodEffect.ROLL, PodEffect.ANOTHER
_ALONE = "it has one group, and nothing serves there until the new one has loaded its model"
_BESIDE = "an update makes the new one, waits until it is ready, and then ends all pods of the old one"
_AHEAD = "as soon as the update begins: requests fail until the pods are replaced"

_TOPOLOGY = (
    edit(
        "pipeline of 2 becomes 4",
        "kimi", f"{WORKERS}.topology.pipeline", 4, _ROLL,
        group("kimi-decode-plain", f"{GROUP}.size", both=(ARGS,)),
        says="(size of groups 2 becomes 4): one group of 2 after another, and the others take the requests",
    ),
    edit(
        "a pipeline of 2 becomes one pod",
        "kimi", f"{WORKERS}.topology.pipeline", 1, _ANOTHER,
        created("Deployment kimi-decode-plain"), deleted("LeaderWorkerSet kimi-decode-plain"),
        says=f"is a LeaderWorkerSet of 2 groups of 2 pods now and will be a Deployment of 2 pods: {_BESIDE}",
        why="workers have one pod then",
    ),
    edit(
        "one pod becomes a pipeline of 2",
        "single", f"{WORKERS}.topology.pipeline", 2, _ANOTHER,
        created("LeaderWorkerSet single-decode-plain"), deleted("Deployment single-decode-plain"),
        says=f"is a Deployment of 1 pod now and will be a LeaderWorkerSet of 1 group of 2 pods: {_BESIDE}",
        why="workers have several pods then",
    ),
    edit(
        "4 copies become 8",
        "wide", f"{WORKERS}.topology.data", 8, _ROLL,
        group("wide-decode-plain", f"{GROUP}.size", both=(ARGS,)),
        # Of so many endpoints the picker requests more.
        single("wide-epp", "spec.template.spec.containers.resources.requests.cpu"),
        says=f"(size of groups 2 becomes 4): {_ALONE}",
    ),
    edit(
        "2 copies in a pod become 1",
        "wide", f"{WORKERS}.topology.dataLocal", 1, _ROLL,
        pool("wide", "spec.targetPorts"),
        group(
            "wide-decode-plain",
            f"{GROUP}.size",
            both=(ANNOTATIONS, ARGS, f"{CONTAINER}.ports", *PROBED, *GPUS),
        ),
        says="(size of groups 2 becomes 4; GPUs of a pod 2 by an extended resource becomes 1 by an "
        f"extended resource): {_ALONE}",
    ),
    edit(
        "2 copies in a pod become all 4",
        "wide", f"{WORKERS}.topology.dataLocal", 4, _ANOTHER,
        pool("wide", "spec.targetPorts"),
        created("Deployment wide-decode-plain"), deleted("LeaderWorkerSet wide-decode-plain"),
        says=f"is a LeaderWorkerSet of 1 group of 2 pods now and will be a Deployment of 1 pod: {_BESIDE}",
        why="workers have one pod then",
    ),
    edit(
        "a tensor group outgrows its node",
        "tall", f"{WORKERS}.topology.tensor", 8, _ANOTHER,
        created("LeaderWorkerSet tall-decode-joined"), deleted("Deployment tall-decode-joined"),
        says=f"is a Deployment of 1 pod now and will be a LeaderWorkerSet of 1 group of 2 pods: {_BESIDE}",
        why="workers have several pods then",
    ),
    edit(
        "more GPUs in each pod of a group",
        "kimi", f"{WORKERS}.topology.tensor", 2, _ROLL,
        group("kimi-decode-plain", both=(ARGS, *GPUS)),
    ),
    edit(
        "another worker in each replica",
        "kimi", f"{WORKERS}.count", 2, _COME,
        group("kimi-decode-plain", "spec.replicas"),
    ),
    edit("a replica more", "kimi", "spec.replicas", 3, _COME, group("kimi-decode-plain", "spec.replicas")),
    edit(
        "a replica less",
        "kimi", "spec.replicas", 1, _COME,
        group("kimi-decode-plain", "spec.replicas"), deleted("PodDisruptionBudget kimi-decode"),
    ),
)  # fmt: skip
_OF_TEMPLATES = (
    Edit(
        "one template becomes two alike",
        (
            ("wide", f"{WORKERS}.template", GONE),
            ("wide", f"{WORKERS}.entry", {"template": template()}),
            ("wide", f"{WORKERS}.follower", {"template": template()}),
        ),
        effect=PodEffect.NONE,
        why="pods are the same",
    ),
    edit(
        "images always pulled for followers",
        "kimi", f"{WORKERS}.follower.template.{ENGINE}.imagePullPolicy", "Always", _ROLL,
        group("kimi-decode-plain", f"{TEMPLATES[1]}.{CONTAINER}.imagePullPolicy"),
    ),
    edit(
        "images always pulled for entries",
        "kimi", f"{WORKERS}.entry.template.{ENGINE}.imagePullPolicy", "Always", _ROLL,
        group("kimi-decode-plain", f"{TEMPLATES[0]}.{CONTAINER}.imagePullPolicy"),
    ),
    edit(
        "another image for all",
        "wide", f"{WORKERS}.template.{ENGINE}.image", "some/engine:v2", _ROLL,
        group("wide-decode-plain", both=(f"{CONTAINER}.image",)),
    ),
    edit(
        "another argument",
        "wide", "spec.engine.args", ["--max-num-seqs=64"], _ROLL,
        group("wide-decode-plain", both=(ARGS,)),
    ),
    edit(
        "more time to start",
        "kimi", "spec.engine.startup", "2h", _ROLL,
        group(
            "kimi-decode-plain",
            f"{TEMPLATES[0]}.{CONTAINER}.env.value",
            f"{TEMPLATES[0]}.{CONTAINER}.startupProbe.failureThreshold",
            f"{TEMPLATES[1]}.{CONTAINER}.env.value",
        ),
    ),
    edit(
        "a spare group while rolling",
        "kimi", "spec.rollout", "Surge", PodEffect.NONE,
        group(
            "kimi-decode-plain",
            *(f"{ROLLING}.max{each}" for each in ("Surge", "Unavailable")),
        ),
    ),
    edit(
        "another port",
        "single", "spec.engine.port", 8100, _ROLL,
        pool("single", "spec.targetPorts.number"),
        single("single-decode-plain", *(f"spec.template.{path}" for path in (ARGS, LISTED))),
        says=f"have port 8000, and their InferencePool would send requests to port 8100 {_AHEAD}",
    ),
    edit(
        "another port for copies",
        "wide", "spec.engine.port", 8100, _ROLL,
        pool("wide", "spec.targetPorts.number"),
        group("wide-decode-plain", both=(*ACTIVE, ARGS, LISTED)),
        says="have ports 8000, 8001, and their InferencePool would send requests to ports 8100, 8101 "
        f"{_AHEAD}",
    ),
)  # fmt: skip
_ROLES = (
    edit(
        "a role more",
        "duo", "spec.roles.rerank", _RERANK, _COME,
        created("Deployment duo-rerank-plain", "ModelReplicas duo-plain-plain-plain", "Service duo-rerank"),
        deleted("ModelReplicas duo-plain-plain"),
    ),
    edit(
        "the first role more",
        "single", "spec.roles.rerank", _RERANK, _COME,
        created("Deployment single-rerank-plain", "Service single-rerank"),
        created("ModelReplicas single-plain-plain"),
        deleted("ModelReplicas single-plain"),
    ),
    edit(
        "a role less",
        "duo", ENCODE, GONE, _COME,
        created("ModelReplicas duo-plain"),
        deleted("Deployment duo-encode-plain", "ModelReplicas duo-plain-plain", "Service duo-encode"),
    ),
    edit(
        "another worker of a role",
        "duo", f"{ENCODE}.workers.count", 2, _COME,
        single("duo-encode-plain", "spec.replicas"), created("PodDisruptionBudget duo-encode"),
    ),
    edit(
        "a role on another pool",
        "duo", f"{ENCODE}.nodeSelector", selects("joined"), _ANOTHER,
        created("Deployment duo-encode-joined", "ModelReplicas duo-plain-joined"),
        deleted("Deployment duo-encode-plain", "ModelReplicas duo-plain-plain"),
        why="of the role alone",
    ),
    edit(
        "another image for a role",
        "duo", f"{ENCODE}.workers.template.{ENGINE}.image", "some/engine:v2", _ROLL,
        single("duo-encode-plain", f"spec.template.{CONTAINER}.image"),
    ),
    edit(
        "another port for a role",
        "duo", f"{ENCODE}.engine", {**DECLARED, "port": 8100}, _ROLL,
        single("duo-encode-plain", *(f"spec.template.{path}" for path in (ARGS, LISTED))),
        {"Service east/ml/duo-encode": "update spec.ports.port"},
    ),
)  # fmt: skip
PARTS = (
    ("topology and number", _TOPOLOGY),
    ("templates, engine and rollout", _OF_TEMPLATES),
    ("roles", _ROLES),
    ("prefill apart from decode", PREFILL),
    ("claims", CLAIMS),
    ("schedulers", SCHEDULERS),
)
EDITS: tuple[Edit, ...] = tuple(edit for _, edits in PARTS for edit in edits)
