"""Plugin lws-standard-labels: the labels of LeaderWorkerSet pods, for tools that select by them.

Sources: kubernetes-sigs/lws, api/leaderworkerset/v1/leaderworkerset_types.go (the labels); the plugin of this
name in volcano-sh/kthena, commit 3cc05728. Differences: Kthena acts on objects that a LeaderWorkerSet owns
and numbers the groups. The pods of a Deployment are alike and have no number, so the labels that hold one for
a group (`group-index`, `group-key`) are not set. Where the LeaderWorkerSet controller runs, its webhook
`mpod.kb.io` refuses pods of others that have the label `name` (lws, config/webhook/mutating-patch.yaml and
pkg/webhooks/pod_webhook.go, commit 060ab4d), so that label is only for clusters without it.
"""

from inferfleet.plugins import api
from inferfleet.plugins.api import Edited, Plugin, PodTemplate, Request, put_field

_PREFIX = "leaderworkerset.sigs.k8s.io"


class Config(api.Config):
    """Which of the labels."""

    name_label: bool = False
    """Whether pods get the label `name` too, with the name of their workload. Only for clusters without the
    LeaderWorkerSet controller, whose webhook refuses such pods. Default: false.
    """


def edit(template: PodTemplate, request: Request, config: Config) -> PodTemplate | Edited:
    """Label pods that are not of a LeaderWorkerSet like those: number of the worker, and name if wanted."""
    if request.group_size > 1:
        return Edited(template, remarks=("these pods get the labels from the LeaderWorkerSet itself",))
    # A worker of one pod is its own leader, and leaders have number 0.
    put_field(template, "metadata", "labels", f"{_PREFIX}/worker-index", value="0")
    if config.name_label:
        put_field(template, "metadata", "labels", f"{_PREFIX}/name", value=request.workload)
    return Edited(
        template,
        remarks=("group-index and group-key are not set: pods of a Deployment are alike and have no number",),
    )


PLUGIN = Plugin("lws-standard-labels", Config, edit, version="1.0.0")
