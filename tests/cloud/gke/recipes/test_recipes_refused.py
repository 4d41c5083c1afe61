"""Recipes that Google refuses, all told in one run, and beside each the nearest one that it takes."""

from typing import Any

from recipe_text import pool, recipe, stack, told

from inferfleet.cloud.gke.facts import sources

Pool = tuple[dict[str, Any], dict[str, Any]]
A, B = "us-east5-a", "us-east5-b"
GPUS = f"({sources.GPUS})"
TOOLKIT = f"({sources.TOOLKIT})"
DWS = f"({sources.DWS})"
API = f"({sources.NODE_POOL_API})"
DRA = f"({sources.DRA})"
MIG = f"({sources.MIG})"
RESERVED = {"name": "h100s"}
TCPXO = recipe("a3-megagpu-8g", networking={"gpuDirect": "TCPXO"})
COMPACT = recipe("a3-highgpu-8g", compactPlacement=True)
TIME_SHARED = {"sharing": {"strategy": "TimeSharing", "maxClientsPerGpu": 4}}
NO_DRIVER = {"driver": "INSTALLATION_DISABLED"}


def _of_slices(**device: str) -> dict[str, Any]:
    spec = recipe("a3-highgpu-8g", accelerator={"partitionSize": "1g.10gb"})
    slices = {"name": "gpu", "driver": "gpu.nvidia.com", "count": 56, **device}
    return {key: value for key, value in spec.items() if key != "resources"} | {"devices": [slices]}


# Name of pool and class: the impossible recipe, what is told of it after "class x" or "pool x of cluster
# east", and its possible twin.
CASES: dict[str, tuple[Pool, str, Pool]] = {
    "count": (
        pool(recipe("a3-highgpu-8g", accelerator={"count": 4})),
        f"asks for 4 nvidia-h100-80gb per node on a3-highgpu-8g, which has 8 {GPUS}",
        pool(recipe("a3-highgpu-8g")),
    ),
    "n1-count": (
        pool(recipe("n1-standard-8", accelerator={"count": 3})),
        f"asks for 3 nvidia-tesla-t4 per node on n1-standard-8, which has 1, 2 or 4 {GPUS}",
        pool(recipe("n1-standard-8", accelerator={"count": 4})),
    ),
    "type": (
        pool(recipe("a3-megagpu-8g", accelerator={"type": "nvidia-h100-80gb"})),
        f"asks for nvidia-h100-80gb on a3-megagpu-8g, which has nvidia-h100-mega-80gb {GPUS}",
        pool(recipe("a3-megagpu-8g")),
    ),
    "no-gpus": (
        pool(recipe("e2-standard-8")),
        f"has machine type e2-standard-8, which takes no GPUs {GPUS}",
        pool(recipe("g2-standard-4")),
    ),
    "bare-metal": (
        pool(recipe("a4x-maxgpu-4g-metal"), "Reservation", reservation=RESERVED),
        "has machine type a4x-maxgpu-4g-metal, which is bare metal, of which inferfleet makes no pools, "
        "though Google offers them "
        f"{TOOLKIT}",
        pool(recipe("a4x-highgpu-4g"), "Reservation", reservation=RESERVED),
    ),
    "ssd-attached": (
        pool(recipe("a3-highgpu-8g", localSsd={"count": 8})),
        f"asks for 8 local SSDs on a3-highgpu-8g, which comes with 16 ({sources.LOCAL_SSD})",
        pool(recipe("a3-highgpu-8g", localSsd={"count": 16})),
    ),
    "ssd-optional": (
        pool(recipe("a2-highgpu-1g", localSsd={"count": 3})),
        f"asks for 3 local SSDs on a2-highgpu-1g, which takes 1, 2, 4 or 8 ({sources.LOCAL_SSD})",
        pool(recipe("a2-highgpu-1g", localSsd={"count": 2})),
    ),
    "disk": (
        pool(recipe("a4x-highgpu-4g", diskType="pd-balanced"), "Reservation", reservation=RESERVED),
        "boots a4x-highgpu-4g from pd-balanced, but it boots from hyperdisk-balanced only "
        f"({sources.A4X_DISKS})",
        pool(recipe("a4x-highgpu-4g", diskType="hyperdisk-balanced"), "Reservation", reservation=RESERVED),
    ),
    "hyperdisk": (
        pool(recipe("a3-highgpu-8g", diskType="hyperdisk-ml")),
        "boots a3-highgpu-8g from hyperdisk-ml, but the only Hyperdisk that nodes boot from is "
        f"hyperdisk-balanced {TOOLKIT}",
        pool(recipe("a3-highgpu-8g", diskType="hyperdisk-balanced")),
    ),
    "no-disk": (
        pool(recipe("g2-standard-4", diskType="floppy")),
        "boots g2-standard-4 from floppy, which is no type of disk that GKE boots nodes from (GKE, custom "
        "boot disks, 2026-11-24: https://cloud.google.com/kubernetes-engine/docs/how-to/custom-boot-disks)",
        pool(recipe("g2-standard-4", diskType="pd-ssd")),
    ),
    "pods": (
        pool(recipe("g2-standard-4", node={"pods": 1024})),
        "has 1024 pods per node, and GKE takes at most 256 (GKE, maximum Pods per node, 2026-11-24: "
        "https://cloud.google.com/kubernetes-engine/docs/how-to/flexible-pod-cidr)",
        pool(recipe("g2-standard-4", node={"pods": 256})),
    ),
    "block": (
        pool(recipe("g2-standard-4"), "Reservation", reservation=RESERVED | {"block": "b", "subBlock": "s"}),
        "names a subBlock of reservation h100s, which g2-standard-4 has none of: those of A3 Ultra, A4, A4X "
        "or A4X Max have blocks (Google, create an AI-optimized GKE cluster, 2026-04-06: "
        "https://docs.cloud.google.com/ai-hypercomputer/docs/create/gke-ai-hypercompute)",
        pool(recipe("a4-highgpu-8g"), "Reservation", reservation=RESERVED | {"block": "b", "subBlock": "s"}),
    ),
    "fabric": (
        pool(recipe("a3-megagpu-8g", networking={"gpuDirect": "TCPX"})),
        f"asks for GPUDirect TCPX on a3-megagpu-8g, which has TCPXO {TOOLKIT}",
        pool(TCPXO),
    ),
    "no-fabric": (
        pool(recipe("g2-standard-4", networking={"gpuDirect": "RDMA"})),
        f"asks for GPUDirect RDMA on g2-standard-4, which has none {TOOLKIT}",
        pool(recipe("g2-standard-4", networking={"gpuDirect": "None"})),
    ),
    "tcpxo-zones": (
        pool(TCPXO, zones=[A, B]),
        f"has zones {A}, {B}; a3-megagpu-8g with TCPXO needs 8 extra networks, MTU 8244, one zone {TOOLKIT}",
        pool(TCPXO, zones=[B]),
    ),
    "rdma-zones": (
        pool(recipe("a4-highgpu-8g", networking={"gpuDirect": "RDMA"}), "Spot", zones=[A, B]),
        f"has zones {A}, {B}; a4-highgpu-8g with RDMA needs 2 extra networks, 9 interfaces in them, one zone "
        f"{TOOLKIT}",
        pool(recipe("a4-highgpu-8g", networking={"gpuDirect": "RDMA"}), "Spot"),
    ),
    "on-demand": (
        pool(recipe("a3-ultragpu-8g")),
        "wants a3-ultragpu-8g as OnDemand; Google offers it as Spot, FlexStart, Queued or Reservation only "
        f"{GPUS}",
        pool(recipe("a3-ultragpu-8g"), "Spot"),
    ),
    "small-on-demand": (
        pool(recipe("a3-highgpu-1g")),
        f"wants a3-highgpu-1g as OnDemand; Google offers it as Spot, FlexStart or Queued only {GPUS}",
        pool(recipe("a3-highgpu-1g"), "FlexStart"),
    ),
    "gb200-spot": (
        pool(recipe("a4x-highgpu-4g"), "Spot"),
        f"wants a4x-highgpu-4g as Spot; Google offers it as Reservation only {GPUS}",
        pool(recipe("a4x-highgpu-4g"), "Reservation", reservation=RESERVED),
    ),
    "gb200-any": (
        pool(recipe("a4x-highgpu-4g"), "Reservation"),
        f"takes any reservation, but a4x-highgpu-4g comes from one that is named only {GPUS}",
        pool(recipe("g2-standard-4"), "Reservation"),
    ),
    "gb200-size": (
        pool(recipe("a4x-highgpu-4g"), "Reservation", reservation=RESERVED, nodeCount=19),
        f"has nodeCount 19; one NVLink domain of a4x-highgpu-4g is 18 nodes {TOOLKIT}",
        pool(recipe("a4x-highgpu-4g"), "Reservation", reservation=RESERVED, nodeCount=18),
    ),
    "compact-flex": (
        pool(COMPACT, "FlexStart"),
        "is FlexStart with compact placement (class compact-flex), which only A3 Ultra, A4 and H4D take, not "
        f"a3-highgpu-8g {TOOLKIT}",
        pool(recipe("a4-highgpu-8g", compactPlacement=True), "FlexStart"),
    ),
    "spot-reserved": (
        pool(recipe("a3-highgpu-8g"), "Spot", reservation=RESERVED),
        f"names reservation h100s, but only model Reservation takes one {TOOLKIT}",
        pool(recipe("a3-highgpu-8g"), "Reservation", reservation=RESERVED),
    ),
    "queued-reserved": (
        pool(recipe("a3-highgpu-8g"), "Queued", reservation=RESERVED, zones=[A, B]),
        f"names reservation h100s, but only model Reservation takes one {TOOLKIT}",
        pool(recipe("a3-highgpu-8g"), "Queued", zones=[A, B]),
    ),
    "reserved-zones": (
        pool(recipe("a3-highgpu-8g"), "Reservation", reservation=RESERVED, zones=[A, B]),
        f"has zones {A}, {B}; reservation h100s is in one zone ({sources.RESERVATIONS})",
        pool(recipe("a3-highgpu-8g"), "Reservation", zones=[A, B]),
    ),
    "compact-zones": (
        pool(COMPACT, zones=[]),
        "names no zone; nodes with compact placement (class compact-zones) are all in one zone "
        f"({sources.COMPACT})",
        pool(COMPACT),
    ),
    "flex-fixed": (
        pool(recipe("g2-standard-4"), "FlexStart", nodeCount=4),
        f"has nodeCount 4, but FlexStart nodes are added when there is capacity, starting from 0 {DWS}",
        pool(recipe("g2-standard-4"), "FlexStart"),
    ),
    "flex-minimum": (
        pool(recipe("g2-standard-4"), "FlexStart", minNodeCount=1),
        f"has minNodeCount 1, but FlexStart pools start from 0 {DWS}",
        pool(recipe("g2-standard-4"), "FlexStart", minNodeCount=0),
    ),
    "queued-minimum": (
        pool(recipe("g2-standard-4"), "Queued", minNodeCount=2),
        f"has minNodeCount 2, but Queued pools start from 0 {DWS}",
        pool(recipe("g2-standard-4"), "Queued"),
    ),
    "flex-none": (
        pool(recipe("g2-standard-4"), "FlexStart", maxNodeCount=0),
        f"has maxNodeCount 0, with which it is not autoscaled, as FlexStart pools have to be {TOOLKIT}",
        pool(recipe("g2-standard-4"), "FlexStart", maxNodeCount=1),
    ),
    "queued-compact": (
        pool(COMPACT, "Queued"),
        f"is Queued, which takes no compact placement, but class queued-compact asks for it {TOOLKIT}",
        pool(COMPACT, "Spot"),
    ),
    "uneven": (
        pool(recipe("g2-standard-4"), nodeCount=5, zones=[A, B]),
        f"has nodeCount 5 over 2 zones; Google counts per zone, so it must divide evenly {API}",
        pool(recipe("g2-standard-4"), nodeCount=6, zones=[A, B]),
    ),
    "no-zones": (
        pool(recipe("g2-standard-4"), nodeCount=5, zones=[]),
        f"has nodeCount 5 and no zones; Google counts per zone, so they must be known {API}",
        pool(recipe("g2-standard-4"), maxNodeCount=5, zones=[]),
    ),
    "dra-sharing": (
        pool(recipe("g2-standard-4", devices=4, allocation="DRA", accelerator=TIME_SHARED, **NO_DRIVER)),
        f"hands out GPUs by DRA and shares them by TimeSharing; GKE does only one of the two {DRA}",
        pool(recipe("g2-standard-4", devices=4, accelerator=TIME_SHARED)),
    ),
    "dra-partitions": (
        pool(
            recipe(
                "a3-highgpu-8g",
                devices=56,
                allocation="DRA",
                accelerator={"partitionSize": "1g.10gb"},
                **NO_DRIVER,
            )
        ),
        f"hands out GPUs by DRA and splits them into 1g.10gb; GKE does only one of the two {DRA}",
        pool(recipe("a3-highgpu-8g", devices=56, accelerator={"partitionSize": "1g.10gb"})),
    ),
    "no-partitions": (
        pool(recipe("g2-standard-4", accelerator={"partitionSize": "1g.10gb"})),
        f"splits nvidia-l4 into 1g.10gb, but GKE does not split such GPUs {MIG}",
        pool(recipe("g2-standard-4", devices=4, accelerator=TIME_SHARED)),
    ),
    "partition": (
        pool(recipe("a2-highgpu-1g", memory="4Gi", accelerator={"partitionSize": "1g.12gb"})),
        "splits nvidia-tesla-a100 into 1g.12gb; its partitions are 1g.5gb, 1g.10gb, 2g.10gb, 3g.20gb, "
        f"4g.20gb, 7g.40gb {MIG}",
        pool(recipe("a2-highgpu-1g", devices=7, memory="4Gi", accelerator={"partitionSize": "1g.5gb"})),
    ),
    "resource": (
        pool(_of_slices(resource="nvidia.com/mig-1g.10gb")),
        "has devices of resource nvidia.com/mig-1g.10gb, and GKE hands all of them out as nvidia.com/gpu",
        pool(_of_slices()),
    ),
    "devices": (
        pool(recipe("a3-highgpu-8g", devices=4)),
        "says 4 devices per node, but its accelerator makes 8",
        pool(recipe("a3-highgpu-8g", devices=8)),
    ),
    "shared-devices": (
        pool(recipe("g2-standard-4", devices=1, accelerator=TIME_SHARED)),
        "says 1 devices per node, but its accelerator makes 4 (count 1, each for 4 pods)",
        pool(recipe("g2-standard-4", devices=4, accelerator=TIME_SHARED)),
    ),
    "split-devices": (
        pool(recipe("a3-highgpu-8g", accelerator={"partitionSize": "3g.40gb"})),
        "says 8 devices per node, but its accelerator makes 16 (count 8, each split into 3g.40gb)",
        pool(recipe("a3-highgpu-8g", devices=16, accelerator={"partitionSize": "3g.40gb"})),
    ),
    "gpu-memory": (
        pool(recipe("g2-standard-4", memory="25Gi")),
        f"says 25Gi of memory per device; nvidia-l4 has 24 GB {GPUS}",
        pool(recipe("g2-standard-4", memory="23034Mi")),
    ),
    "cpu": (
        pool(recipe("g2-standard-4", node={"cpu": "5"})),
        f"says 5 of cpu per node; g2-standard-4 has 4 vCPUs {GPUS}",
        pool(recipe("g2-standard-4", node={"cpu": "3920m"})),
    ),
    "memory": (
        pool(recipe("g2-standard-4", node={"memory": "17Gi"})),
        f"says 17Gi of memory per node; g2-standard-4 has 16 GB {GPUS}",
        pool(recipe("g2-standard-4", node={"memory": "13Gi"})),
    ),
    "huge-small": (
        pool(recipe("g2-standard-4", node={"memory": "3Gi", "hugepages": {"2Mi": "10Gi"}})),
        "has 10Gi in huge pages; GKE gives them at most 60% of the 16 GB of g2-standard-4 "
        f"({sources.SYSTEM_CONFIG})",
        pool(recipe("g2-standard-4", node={"memory": "3Gi", "hugepages": {"2Mi": "9Gi"}})),
    ),
    "huge-none": (
        pool(recipe("g2-standard-4", node={"hugepages": {"1Gi": 0}})),
        f"writes 0 of huge pages of 1Gi, and GKE takes numbers from 1 on ({sources.GCLOUD_SYSTEM_CONFIG})",
        pool(recipe("g2-standard-4", node={"hugepages": {}})),
    ),
    "huge-large": (
        pool(recipe("g2-standard-8", node={"memory": "3Gi", "hugepages": {"2Mi": "26Gi"}})),
        "has 26Gi in huge pages; GKE gives them at most 80% of the 32 GB of g2-standard-8 "
        f"({sources.SYSTEM_CONFIG})",
        pool(recipe("g2-standard-8", node={"memory": "3Gi", "hugepages": {"2Mi": "25Gi"}})),
    ),
    "huge-twice": (
        pool(recipe("g2-standard-4", node={"memory": "13Gi", "hugepages": {"2Mi": "4Gi"}})),
        "has 4Gi in huge pages; with the 13Gi of memory beside them that is more than g2-standard-4 has "
        f"({sources.SYSTEM_CONFIG})",
        pool(recipe("g2-standard-4", node={"memory": "9Gi", "hugepages": {"2Mi": "4Gi"}})),
    ),
}
# How that begins which is told of the pool; the rest is told of its class.
_OF_POOLS = (
    *("has maxRunDuration", "has maxNodeCount", "has nodeCount", "has minNodeCount", "has zones"),
    *("is FlexStart", "is Queued"),
    *("names a subBlock", "names no zone", "names reservation", "takes any", "wants"),
)


def test_impossible_recipes_are_all_refused_at_once_with_reason_and_source() -> None:
    problems, _ = told(stack({name: bad for name, (bad, _, _) in CASES.items()}))
    assert sorted(problem.partition(": ")[2] for problem in problems) == sorted(
        f"{f'pool {name} of cluster east' if what.startswith(_OF_POOLS) else f'class {name}'} {what}"
        for name, (_, what, _) in CASES.items()
    )


def test_the_nearest_possible_recipes_are_all_taken() -> None:
    problems, _ = told(stack({name: good for name, (_, _, good) in CASES.items()}))
    assert problems == []
