"""Edits of classes: `plain` has a replica on its one pool, `cheap` has two empty pools, `wired` one."""

from gke_edits import GONE, Edit
from gke_edits_stack import documents

RECIPE = "spec.provisioning.gke"
_GPU = "nodeConfig.guestAccelerators"
_DRIVER = f"{_GPU}.gpuDriverInstallationConfig.gpuDriverVersion"
_OTHER = ("plain", f"{RECIPE}.driver", "DEFAULT")
_RENAMED = {**documents()["plain"], "metadata": {"name": "ordinary"}}
_SHARED = {"strategy": "MPS", "maxClientsPerGpu": 2}


def _both(plan: str) -> dict[str, str]:
    return {"NodePool east/spot": plan, "NodePool east/zero": plan}


EDITS = (
    Edit("another description", (("plain", "spec.description", "one L4"),)),
    Edit(
        "another machine, under a replica",
        (("plain", f"{RECIPE}.machineType", "g2-standard-12"),),
        {"NodePool east/fixed": "update nodeConfig.machineType"},
    ),
    Edit(
        "two accelerators a node",
        (("cheap", f"{RECIPE}.accelerator.count", 2), ("cheap", "spec.devices[0].count", 2)),
        _both(f"replace {_GPU}.count"),
    ),
    Edit(
        "accelerators that pods share",
        (("cheap", f"{RECIPE}.accelerator.sharing", _SHARED), ("cheap", "spec.devices[0].count", 2)),
        _both(f"replace {_GPU}.gpuSharingConfig"),
    ),
    Edit(
        "a larger disk",
        (("cheap", f"{RECIPE}.diskSizeGb", 200),),
        _both("update nodeConfig.bootDisk.sizeGb"),
    ),
    Edit("another driver", (("cheap", f"{RECIPE}.driver", "DEFAULT"),), _both(f"replace {_DRIVER}")),
    Edit(
        "another driver, under a replica",
        (_OTHER,),
        refused="pool east/fixed with 1 replica (1 of ml/chat) would be replaced, for this cannot change in "
        "place: driver (gpuDriverVersion LATEST -> DEFAULT). Allow it with spec.cluster.gke.replace.allow: "
        "[driver]",
    ),
    Edit(
        "another driver, under a replica, allowed",
        (_OTHER, ("east", "spec.cluster.gke.replace", {"allow": ["driver"]})),
        {
            "NodePool east/fixed": f"replace {_DRIVER}",
            "Deployment east/ml/chat-decode-fixed": "update "
            'spec.template.spec.nodeSelector["inferfleet.dev/pool"]',
        },
    ),
    Edit(
        "image streaming",
        (("cheap", f"{RECIPE}.imageStreaming", True),),
        _both("update nodeConfig.gcfsConfig.enabled"),
    ),
    Edit("fewer pods a node", (("cheap", "spec.node.pods", 64),), _both("replace maxPodsPerNode")),
    Edit(
        "compact placement",
        (("wired", f"{RECIPE}.compactPlacement", True),),
        {"NodePool east/wired": "replace placementPolicy"},
    ),
    Edit(
        "no GPUDirect",
        (("wired", f"{RECIPE}.networking.gpuDirect", GONE),),
        {
            "NodePool east/wired": "replace",
            **{
                f"{kind} east/tcpxo-{place}": "delete"
                for kind in ("Network", "Subnetwork", "Firewall")
                for place in range(8)
            },
        },
        why="the provider sees no change where a list is gone: the pool's new name forces it",
    ),
    Edit(
        "the class renamed",
        (
            ("plain", "", GONE),
            ("ordinary", "", _RENAMED),
            ("east", "spec.nodePools[0].className", "ordinary"),
        ),
    ),
    Edit(
        "another class for a pool",
        (("east", "spec.nodePools[3].className", "plain"),),
        {"NodePool east/zero": f"replace {_GPU}.type"},
    ),
)
