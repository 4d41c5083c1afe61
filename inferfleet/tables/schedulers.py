"""What Volcano, KAI and Kueue are told of a workload: names of schedulers, labels, annotations and kinds.

Volcano 1.15: annotations in staging/src/volcano.sh/apis/pkg/apis/scheduling/v1beta1/labels.go of
volcano-sh/volcano, commit ed72c7c8; `subGroupPolicy` of PodGroups is there since 1.14
(config/crd/volcano/bases/scheduling.volcano.sh_podgroups.yaml). KAI: pkg/podgrouper/podgrouper/plugins of
NVIDIA/KAI-Scheduler, commit 72de64fc: constants/constants.go, and default_grouper.go, which reads queue and
topology from the workload that owns the pods. Kueue 0.19: pkg/controller/constants and
apis/kueue/v1beta2/topology_types.go of kubernetes-sigs/kueue, commit ff69552e.
"""

from collections.abc import Mapping
from types import MappingProxyType

SCHEDULER_NAMES: Mapping[str, str] = MappingProxyType({"Volcano": "volcano", "KAI": "kai-scheduler"})
# Volcano makes it when it is installed.
VOLCANO_QUEUE = "default"

KUEUE_QUEUE = "kueue.x-k8s.io/queue-name"
KUEUE_REQUIRED = "kueue.x-k8s.io/podset-required-topology"
KUEUE_PREFERRED = "kueue.x-k8s.io/podset-preferred-topology"
KUEUE_GROUP = "kueue.x-k8s.io/podset-group-name"
# Gates that hold a pod back: until its queue has space, and until nodes are chosen for it.
KUEUE_ADMISSION_GATE = "kueue.x-k8s.io/admission"
KUEUE_TOPOLOGY_GATE = "kueue.x-k8s.io/topology"

KAI_QUEUE = "kai.scheduler/queue"
# A label of the workload or its pods that names their priority, and comes before what pods name themselves.
KAI_PRIORITY = "priorityClassName"
KAI_INFERENCE = "inference"
KAI_TOPOLOGY = "kai.scheduler/topology"
KAI_REQUIRED = "kai.scheduler/topology-required-placement"
KAI_PREFERRED = "kai.scheduler/topology-preferred-placement"
# Annotations of a pod that ask for a part of a GPU (pkg/common/constants/constants.go).
FRACTIONS = frozenset(("gpu-fraction", "gpu-memory", "gpu-fraction-num-devices"))

VOLCANO_QUEUE_NAME = "scheduling.volcano.sh/queue-name"
VOLCANO_GROUP_NAME = "scheduling.k8s.io/group-name"

# What puts pods into a queue or group of one of the three, by where it stands in their metadata.
QUEUE_KEYS = (
    ("labels", KUEUE_QUEUE),
    ("labels", KAI_QUEUE),
    ("annotations", VOLCANO_QUEUE_NAME),
    ("annotations", VOLCANO_GROUP_NAME),
)

POD_GROUP = ("scheduling.volcano.sh/v1beta1", "PodGroup")
# The API group and kind of each scheduler's queues and topologies; versions differ by release.
QUEUES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "Volcano": ("scheduling.volcano.sh", "Queue"),
        "KAI": ("scheduling.run.ai", "Queue"),
        "Kueue": ("kueue.x-k8s.io", "LocalQueue"),
    }
)
KUEUE_WORKLOAD = ("kueue.x-k8s.io", "Workload")
TOPOLOGIES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "Volcano": ("topology.volcano.sh", "HyperNode"),
        "KAI": ("kai.scheduler", "Topology"),
        "Kueue": ("kueue.x-k8s.io", "Topology"),
    }
)
