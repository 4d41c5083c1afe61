"""Plugin scheduler: who schedules the pods, at which priority, and in which queue of Kueue, KAI or Volcano.

Sources. Kueue: pod_webhook.go and deployment_webhook.go in pkg/controller/jobs/, and the page
site/content/en/docs/tasks/run/external_workloads/spark_submit_plain_pod.md of kubernetes-sigs/kueue, commit
ff69552e (2026-08-22). Kueue reads the queue of a Deployment from the Deployment's own labels, and its webhook
then writes two labels and an annotation into the pod template. The queue's label alone is not enough: where
only the Deployment integration is on, pods without the annotation are skipped. So this plugin writes all
three. Workers of several pods are a LeaderWorkerSet, for which leaderworkerset_webhook.go (same folder)
writes an annotation of its own; so for them the plugin refuses a queue of Kueue. KAI:
docs/quickstart/README.md of NVIDIA/KAI-Scheduler, commit 856a29ba. Volcano:
pkg/controllers/podgroup/pg_controller_handler.go of volcano-sh/volcano, commit 06859c59: these annotations
count on pods.

Where a cluster or deployment names its scheduler (`serving.scheduler`, `spec.scheduler`), a queue of this
plugin is an error (serving/schedulers.py): queues of workloads, gangs and topologies are
written there.
"""

from collections.abc import Iterator
from typing import Literal

from inferfleet.plugins import api
from inferfleet.plugins.api import (
    Edited,
    LabelValue,
    Mistake,
    ObjectName,
    Plugin,
    PluginError,
    PodTemplate,
    Request,
    put_field,
)

# Where the queue of each system stands in the metadata of a pod.
_QUEUES = {
    "Kueue": ("labels", "kueue.x-k8s.io/queue-name"),
    "KAI": ("labels", "kai.scheduler/queue"),
    "Volcano": ("annotations", "scheduling.volcano.sh/queue-name"),
}
_SCHEDULERS = {"KAI": "kai-scheduler", "Volcano": "volcano"}


class Config(api.Config):
    """Whose queue it is, and what the pods say to their scheduler."""

    system: Literal["Kueue", "KAI", "Volcano"] | None = None
    """System whose queue the pods go through. Default: none."""
    queue: LabelValue | None = None
    """Queue of that system: a LocalQueue of Kueue in the pods' namespace, a Queue of KAI or Volcano. Required
    with Kueue and KAI. Default with Volcano: its queue `default`."""
    scheduler_name: ObjectName | None = None
    """Scheduler of the pods. Default: `kai-scheduler` with KAI, `volcano` with Volcano, else that of the
    template."""
    priority_class_name: ObjectName | None = None
    """PriorityClass of the pods. Default: that of the template."""
    group: ObjectName | None = None
    """PodGroup of Volcano that the pods belong to, which must exist. Default: Volcano makes one per
    ReplicaSet, whose pods start one by one."""

    def mistakes(self) -> Iterator[Mistake]:
        """Yield what the system and its queue and group contradict."""
        if self == Config.model_construct():
            yield Mistake(
                "the plugin is given nothing to do", "Add system, schedulerName or priorityClassName"
            )
        if self.queue and self.system is None:
            yield Mistake(
                f"queue {self.queue} is set without system", "Add system: Kueue, KAI or Volcano", ("queue",)
            )
        if self.system in ("Kueue", "KAI") and not self.queue:
            yield Mistake(f"system {self.system} needs a queue", "Add queue", ("system",))
        if self.group and self.system != "Volcano":
            what = f"group {self.group} is a PodGroup of Volcano"
            yield Mistake(what, "Write system: Volcano, or remove group", ("group",))


def edit(template: PodTemplate, request: Request, config: Config) -> PodTemplate | Edited:
    """Choose the scheduler of the pods, their priority, and their queue in Kueue, KAI or Volcano."""
    _one_system(template, config)
    pods = request.deployment.pods_per_worker
    if config.system == "Kueue" and pods > 1:
        raise PluginError(
            f"each worker has {pods} pods, whose queue Kueue reads from the workload's own labels, which no "
            "plugin edits; write it as spec.scheduler of the deployment instead"
        )
    for path, value in _fields(config):
        if value is not None:
            put_field(template, *path, value=value)
    if config.system == "Kueue":
        return Edited(template, remarks=("Kueue admits each pod on its own, as for every Deployment",))
    return template


def _fields(config: Config) -> Iterator[tuple[tuple[str, ...], str | None]]:
    """Yield the fields of a pod with what they are to be, None for those that stay as they are."""
    yield ("spec", "schedulerName"), config.scheduler_name or _SCHEDULERS.get(config.system or "")
    yield ("spec", "priorityClassName"), config.priority_class_name
    if config.system:
        kind, key = _QUEUES[config.system]
        yield ("metadata", kind, key), config.queue
    yield ("metadata", "annotations", "scheduling.k8s.io/group-name"), config.group
    if config.system == "Kueue":
        yield ("metadata", "labels", "kueue.x-k8s.io/managed"), "true"
        yield ("metadata", "annotations", "kueue.x-k8s.io/pod-suspending-parent"), "deployment"


def _one_system(template: PodTemplate, config: Config) -> None:
    """Raise PluginError for pods that go through the queue of another system already."""
    metadata = template.get("metadata", {})
    for system, (kind, key) in _QUEUES.items():
        if config.system not in (None, system) and key in metadata.get(kind, {}):
            raise PluginError(
                f"the pods go through a queue of {system} already ({key}), and not of {config.system}; "
                "remove one of the two"
            )


PLUGIN = Plugin("scheduler", Config, edit, version="1.0.0")
