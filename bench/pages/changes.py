"""The page docs/changes.md: what a change of each field does, as people read it.

Fields of classes and clusters are in the table of changes, by which updates are decided. A deployment is
nothing in the cloud; what its fields do to pods that run follows from manifests, so its table is here, and
tests hold it against what the engine does.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from inferfleet.cloud.gke.facts.change_table import ROWS, Row
from inferfleet.cloud.gke.facts.create_only import ALSO, NOT

_INTRODUCTION = """\
# What a change does in Google Cloud

Made from the program's own table by `make docs`; tests hold it against the settings that documents give and
against the provider's fields.

- **in place**: nodes and replicas that run are not touched.
- **in place, GKE replaces the nodes**: GKE replaces the nodes of the pool, some at a time; replicas on them
  restart. The plan says so.
- **replaces the pool**: the setting is immutable. A new pool is created under another name, and the old one
  is deleted. While replicas are placed on it, this is refused unless `spec.cluster.gke.replace.allow` of the
  cluster names the field (as in `accelerator.type` or `capacity.model`). With `replace.order: CreateFirst`
  (the default) the new nodes are created first, which needs capacity for both; with `DeleteFirst` there is a
  gap.
- **creates a pool**, **deletes the pool**, **creates another pool, deletes this one**: no other pool is
  touched. A pool with replicas on it is never deleted: that is refused.
- **refused**: it would be another cluster.

The plan compares with `placement.lock`, which records the immutable settings of clusters and pools, and those
whose change makes GKE replace nodes. Other changes in place (sizes, labels, taints, channels) are shown by
`pulumi preview` only.
"""
_DEPLOYMENTS = """\
## Fields of a ModelDeployment

Nothing of a deployment is in Google Cloud. What a change does to its pods that run:

- **no pod restarts**: objects beside them change, or nothing does.
- **pods come or go**: others than these are created or deleted.
- **pods roll**: a Deployment replaces its pods one at a time, a LeaderWorkerSet its groups, as `spec.rollout`
  says.
- **another workload**: new pods are created beside the old ones, which are deleted at the end of the update.
  Of prefill and decode, where there is no room for both sets, the old one ends first, which the plan says.

| field | effect | why |
|---|---|---|
"""
_CORRECTIONS = """\
## Where the provider's table alone is wrong

A change replaces a pool when the provider's table of fields says so (`forceNew`), with these exceptions:

| resource | setting | counts as | why |
|---|---|---|---|
"""


class PodEffect(StrEnum):
    """What happens to pods that run, from the least to the most severe."""

    NONE = "no pod restarts"
    COME_OR_GO = "pods come or go"
    ROLL = "pods roll"
    ANOTHER = "another workload"
    AT_ONCE = "all pods end at once"


class DeploymentField(NamedTuple):
    """One field of a ModelDeployment; those below it that have no entry do the same."""

    path: str
    effect: PodEffect
    why: str


_OF_ROLES = "spec.roles.<name>."
_PREFILL = "spec.prefill."
# What may decide the form of KV caches: `fleet.engines.revision`.
_FACTS = "with another image, command, args or variable of the engine"
_EXCHANGED = "both roles get another workload, because KV caches may have another form"
_ANOTHER = f"where there is prefill, {_EXCHANGED}"
_TUNED = f"where there is prefill and no engine.revision, {_EXCHANGED}"
DEPLOYMENT_FIELDS = (
    DeploymentField("apiVersion", PodEffect.NONE, "it has a single value"),
    DeploymentField("kind", PodEffect.NONE, "it says what the document is"),
    DeploymentField("metadata.name", PodEffect.ANOTHER, "another name is another deployment"),
    DeploymentField("metadata.namespace", PodEffect.ANOTHER, "another namespace is another deployment"),
    DeploymentField("metadata.labels", PodEffect.NONE, "services select deployments by them"),
    DeploymentField(
        "spec.paused", PodEffect.NONE, "once it is taken away, what was edited meanwhile takes effect"
    ),
    DeploymentField("spec.replicas", PodEffect.COME_OR_GO, "each has so many pods or groups"),
    DeploymentField(
        "spec.scaling", PodEffect.NONE, "the scaler changes; from or to a number of replicas pods stay"
    ),
    DeploymentField("spec.priority", PodEffect.NONE, "new replicas choose by it; those that run stay"),
    DeploymentField(
        "spec.accelerator", PodEffect.NONE, "replicas move to pools that have what their pods ask for"
    ),
    DeploymentField("spec.clusterSelector", PodEffect.NONE, "where a cluster is excluded, its replicas move"),
    DeploymentField("spec.poolSelector", PodEffect.NONE, "where a pool is excluded, its replicas move"),
    DeploymentField("spec.spread", PodEffect.NONE, "new replicas are placed by it; those that run stay"),
    DeploymentField("spec.prefer", PodEffect.NONE, "new replicas are placed by it; those that run stay"),
    DeploymentField(
        "spec.capacityModels", PodEffect.NONE, "new replicas are placed by it; those that run stay"
    ),
    DeploymentField(
        "spec.onDemandReplicas", PodEffect.NONE, "new replicas are placed by it; those that run stay"
    ),
    DeploymentField(
        "spec.nodeSelector",
        PodEffect.NONE,
        "where a class is excluded, its replicas move; pods whose GPUs are claimed roll to another claim",
    ),
    DeploymentField("spec.tolerations", PodEffect.NONE, "where a taint is not tolerated, replicas move"),
    DeploymentField(
        "spec.profile",
        PodEffect.ROLL,
        "pods roll only where the release brings their routing proxy or an image that they leave out; the "
        "picker is replaced",
    ),
    DeploymentField(
        "spec.engine.type",
        PodEffect.ROLL,
        "probes, metrics and labels follow from it; where there is prefill, both roles get another workload",
    ),
    DeploymentField(
        "spec.engine.port",
        PodEffect.ROLL,
        "the InferencePool has the new port first: requests fail until pods are replaced, which is announced",
    ),
    DeploymentField("spec.engine.startup", PodEffect.ROLL, "the probe at start allows so much time"),
    DeploymentField(
        "spec.engine.version", PodEffect.ROLL, "where the image follows from it, as another image does"
    ),
    DeploymentField("spec.engine.image", PodEffect.ROLL, _ANOTHER),
    DeploymentField("spec.engine.program", PodEffect.ROLL, "the command begins with it"),
    DeploymentField("spec.engine.model", PodEffect.ROLL, _ANOTHER),
    DeploymentField(
        "spec.engine.model.cache",
        PodEffect.ROLL,
        f"pods mount it; where it is not filled, nothing of the deployment changes before; {_ANOTHER}",
    ),
    DeploymentField("spec.engine.model.token", PodEffect.ROLL, "it is a variable of the engine"),
    DeploymentField("spec.engine.servedNames", PodEffect.ROLL, "the command has them"),
    DeploymentField(
        "spec.engine.adapters",
        PodEffect.NONE,
        "vLLM loads and unloads them while it serves; the first and the last one roll pods, as each one does "
        "on SGLang",
    ),
    DeploymentField("spec.engine.maxAdapters", PodEffect.ROLL, "the command has it"),
    DeploymentField("spec.engine.maxCpuAdapters", PodEffect.ROLL, "the command has it"),
    DeploymentField("spec.engine.maxAdapterRank", PodEffect.ROLL, "the command has it"),
    DeploymentField("spec.engine.drain", PodEffect.ROLL, "the command and the grace period follow from it"),
    DeploymentField("spec.engine.args", PodEffect.ROLL, f"the command ends with them; {_TUNED}"),
    DeploymentField(
        "spec.engine.revision", PodEffect.ANOTHER, "of both roles; without prefill nothing happens"
    ),
    DeploymentField("spec.workers.count", PodEffect.COME_OR_GO, "each replica has so many pods or groups"),
    DeploymentField(
        "spec.workers.topology",
        PodEffect.ROLL,
        "groups of another size are announced; where one pod becomes several, or several one, it is another "
        "workload, as with prefill for another tensor or pipeline",
    ),
    DeploymentField(
        "spec.workers.template",
        PodEffect.ROLL,
        f"all pods are made of it; where there is prefill, {_FACTS}, {_EXCHANGED}",
    ),
    DeploymentField(
        "spec.workers.balance",
        PodEffect.ROLL,
        "commands, ports and the InferencePool follow from it; other ports are announced",
    ),
    DeploymentField("spec.workers.entry", PodEffect.ROLL, "whole groups roll"),
    DeploymentField("spec.workers.follower", PodEffect.ROLL, "whole groups roll"),
    DeploymentField("spec.disruptionBudget", PodEffect.NONE, "it is about how nodes are drained"),
    DeploymentField("spec.roles", PodEffect.COME_OR_GO, "those of the role; pods of other roles run on"),
    DeploymentField(f"{_OF_ROLES}workers.count", PodEffect.COME_OR_GO, "each replica has so many of them"),
    DeploymentField(
        f"{_OF_ROLES}workers.topology", PodEffect.ROLL, "as that of the deployment, for the role"
    ),
    DeploymentField(f"{_OF_ROLES}workers.balance", PodEffect.ROLL, "as that of the deployment, for the role"),
    DeploymentField(f"{_OF_ROLES}workers.template", PodEffect.ROLL, "all pods of the role are made of it"),
    DeploymentField(f"{_OF_ROLES}workers.entry", PodEffect.ROLL, "whole groups of the role roll"),
    DeploymentField(f"{_OF_ROLES}workers.follower", PodEffect.ROLL, "whole groups of the role roll"),
    DeploymentField(f"{_OF_ROLES}nodeSelector", PodEffect.ANOTHER, "where it excludes the pool of the role"),
    DeploymentField(f"{_OF_ROLES}accelerator", PodEffect.ANOTHER, "the role moves to a pool that has them"),
    DeploymentField(f"{_OF_ROLES}engine", PodEffect.ROLL, "as that of the deployment, for the role"),
    DeploymentField("spec.prefill", PodEffect.ANOTHER, "added or removed, for both roles"),
    DeploymentField(
        f"{_PREFILL}workers.count", PodEffect.COME_OR_GO, "each replica has so many of them; decode runs on"
    ),
    DeploymentField(
        f"{_PREFILL}workers.topology",
        PodEffect.ANOTHER,
        f"with another tensor or pipeline, {_EXCHANGED}; with another data, groups of prefill roll",
    ),
    *(
        DeploymentField(f"{_PREFILL}workers.{part}", PodEffect.ROLL, why)
        for part, why in (
            ("balance", "those of prefill; other ports of the InferencePool are announced"),
            ("template", f"all pods of prefill are made of it; {_FACTS}, {_EXCHANGED}"),
            ("entry", f"whole groups of prefill roll; {_FACTS}, {_EXCHANGED}"),
            ("follower", f"whole groups of prefill roll; {_FACTS}, {_EXCHANGED}"),
        )
    ),
    DeploymentField(
        f"{_PREFILL}nodeSelector", PodEffect.ANOTHER, "where it excludes the pool of prefill; decode runs on"
    ),
    DeploymentField(f"{_PREFILL}connector", PodEffect.ANOTHER, _EXCHANGED),
    DeploymentField(f"{_PREFILL}options", PodEffect.ANOTHER, _EXCHANGED),
    DeploymentField(f"{_PREFILL}image", PodEffect.ANOTHER, _EXCHANGED),
    DeploymentField(
        f"{_PREFILL}args", PodEffect.ANOTHER, f"{_EXCHANGED}; with engine.revision pods of prefill roll"
    ),
    DeploymentField(f"{_PREFILL}decider", PodEffect.NONE, "it is about the picker, which is replaced"),
    DeploymentField(f"{_PREFILL}proxy", PodEffect.ROLL, "those of decode, which the proxy is in"),
    DeploymentField(
        f"{_PREFILL}proxy.enginePort",
        PodEffect.ROLL,
        "those of decode; requests come in on the port of the proxy, which stays",
    ),
    DeploymentField("spec.endpointPicker", PodEffect.NONE, "it is about the picker, which is replaced"),
    DeploymentField(
        "spec.route",
        PodEffect.NONE,
        "it is about the HTTPRoute; the picker is replaced where other paths need another parser",
    ),
    DeploymentField("spec.unplaced", PodEffect.NONE, "it says what updates do about missing replicas"),
    DeploymentField(
        "spec.rollout",
        PodEffect.NONE,
        "it says how pods are replaced, and whether room is kept for a second set of prefill and decode",
    ),
    DeploymentField(
        "spec.scheduler",
        PodEffect.ROLL,
        "but for queues of KAI, which are labels of workloads; a queue of Kueue must not change under pods "
        "that are ready: that is refused",
    ),
    DeploymentField(
        "spec.plugins",
        PodEffect.ROLL,
        "where they make other pods",
    ),
)


def page() -> str:
    """Return the whole page in Markdown."""
    return "\n".join(
        [
            _INTRODUCTION,
            *_section("Fields of an InferenceClass", (row for row in ROWS if row.kind == "InferenceClass")),
            *_section(
                "Fields of an InferenceCluster", (row for row in ROWS if row.kind == "InferenceCluster")
            ),
            _DEPLOYMENTS
            + "\n".join(f"| `{path}` | {effect} | {why} |" for path, effect, why in DEPLOYMENT_FIELDS),
            "",
            _CORRECTIONS + "\n".join([*_corrections("create-only", ALSO), *_corrections("nothing", NOT)]),
            "",
        ]
    )


def _section(title: str, rows: Iterable[Row]) -> Iterator[str]:
    yield f"## {title}\n"
    yield "| field | effect | why | settings |"
    yield "|---|---|---|---|"
    for row in rows:
        settings = ", ".join(f"`{path}`" for path in row.wire)
        yield f"| `{row.path}` | {row.effect} | {row.why} | {settings} |"
    yield ""


def _corrections(meaning: str, reasons: Mapping[tuple[str, str], str]) -> Iterator[str]:
    for (token, path), why in reasons.items():
        yield f"| {token.rpartition(':')[2]} | `{path}` | {meaning} | {why} |"
