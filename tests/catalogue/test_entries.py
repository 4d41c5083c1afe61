"""What every class of the catalogue says is what its source says."""

from decimal import Decimal

import pytest
from made_of import CATALOGUE, GPU_RECIPES, RECIPES, TWINS, WITH_GPUS, gke, gpu, product

from inferfleet.cloud.gke.facts.machines import machine, machines
from inferfleet.documents.quantity import parse_quantity

GIB = 2**30
# Not in the catalogue: had by region only, without the disks that images and weights want.
LEFT_OUT = {"a3-edgegpu-8g", "a4x-highgpu-4g-nolssd"}

# Classes of whose machines no price was found that has a date and a source.
UNPRICED = {
    *("gke-t4-1x", "gke-t4-2x", "gke-t4-4x"),
    *("gke-b200-8x", "gke-b200-8x-dranet", "gke-b200-8x-rdma"),
    *("gke-gb200-4x", "gke-gb200-4x-dranet", "gke-gb200-4x-rdma"),
}

# What each product is: accelerator types of Google, architecture and compute capability of
# https://developer.nvidia.com/cuda-gpus, MiB as nvidia-smi reports them.
PRODUCTS = {
    "Tesla T4": (["nvidia-tesla-t4"], "Turing", "7.5.0", 15360),
    "NVIDIA L4": (["nvidia-l4"], "Ada Lovelace", "8.9.0", 23034),
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": (["nvidia-rtx-pro-6000"], "Blackwell", "12.0.0", 97887),
    "NVIDIA A100-SXM4-40GB": (["nvidia-tesla-a100"], "Ampere", "8.0.0", 40960),
    "NVIDIA A100-SXM4-80GB": (["nvidia-a100-80gb"], "Ampere", "8.0.0", 81920),
    "NVIDIA H100 80GB HBM3": (["nvidia-h100-80gb", "nvidia-h100-mega-80gb"], "Hopper", "9.0.0", 81559),
    "NVIDIA H200": (["nvidia-h200-141gb"], "Hopper", "9.0.0", 143771),
    "NVIDIA B200": (["nvidia-b200"], "Blackwell", "10.0.0", 183359),
    "NVIDIA GB200": (["nvidia-gb200"], "Blackwell", "10.0.0", 189471),
}


def allocatable(vcpus: int, memory: float) -> tuple[Decimal, int]:
    """Cores, and whole GiB, that GKE leaves to pods of a node; its eviction threshold is 100 MiB.

    https://docs.cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes
    """
    cores = _shares(Decimal(vcpus), [(1, "0.06"), (1, "0.01"), (2, "0.005"), (vcpus, "0.0025")])
    steps = [(4, "0.25"), (4, "0.2"), (8, "0.1"), (112, "0.06"), (int(memory), "0.02")]
    kept = _shares(Decimal(memory), steps) + Decimal(100) / 1024
    return vcpus - cores, int(Decimal(memory) - kept)


def _shares(amount: Decimal, steps: list[tuple[int, str]]) -> Decimal:
    """So much of each step, as far as the amount reaches."""
    kept = Decimal(0)
    for width, share in steps:
        part = min(amount, Decimal(width))
        kept, amount = kept + part * Decimal(share), amount - part
    return kept


def test_the_reservations_agree_with_nodes_and_with_another_reading_of_the_page() -> None:
    """GKE nodes of 4 vCPUs report 3920m; 140.14 of 150 GiB are left in the example of
    github.com/hatemosphere/gke-node-allocatable-memory-calculator.
    """
    assert allocatable(4, 150) == (Decimal("3.92"), 140)


def test_every_machine_with_nvidia_gpus_has_a_recipe() -> None:
    known = {one.type for one in machines() if not one.unsupported}
    attached = {"n1-standard-8", "n1-standard-16", "n1-standard-32"}
    assert {gke(one).machine_type for one in GPU_RECIPES.values()} == known - LEFT_OUT | attached


@pytest.mark.parametrize("name", RECIPES)
def test_cores_and_memory_are_what_gke_leaves_to_pods(name: str) -> None:
    """GKE's own DaemonSets have a core and a GiB of it, so that pods that fill a node fit beside them."""
    one = RECIPES[name]
    facts = machine(gke(one).machine_type)
    assert facts
    node = parse_quantity(one.spec.node.cpu), parse_quantity(one.spec.node.memory) / GIB
    cores, memory = allocatable(facts.vcpus, facts.memory_gib)
    assert node == (cores - 1, memory - 1)


@pytest.mark.parametrize("name", WITH_GPUS)
def test_devices_are_as_their_driver_reports_them(name: str) -> None:
    one, device = CATALOGUE[name], gpu(CATALOGUE[name])
    accelerators, architecture, capability, memory = PRODUCTS[product(one) or ""]
    told = {key: value.model_dump(exclude_none=True) for key, value in device.attributes.items()}
    assert told == {
        "productName": {"string": product(one)},
        "architecture": {"string": architecture},
        "cudaComputeCapability": {"version": capability},
    }
    assert device.capacity["memory"].value == f"{memory}Mi"
    if one.spec.provisioning:
        accelerator = gke(one).accelerator
        assert accelerator
        assert (accelerator.type in accelerators, accelerator.count) == (True, device.count)


@pytest.mark.parametrize("name", GPU_RECIPES)
def test_a_recipe_with_gpudirect_shows_placement_its_adapters(name: str) -> None:
    direct = gke(RECIPES[name]).networking.gpu_direct
    claimed = gke(RECIPES[name]).networking.accelerator_network_profile == "Auto"
    seen = [
        (device.claim, device.count, device.device_class_name, list(device.attributes))
        for device in RECIPES[name].spec.devices
        if device.name != "gpu"
    ]
    adapters = 4 if direct == "TCPX" else gpu(RECIPES[name]).count
    synthetic = ("Synthetic", adapters, None, ["linkType"])
    card = ("DRA", adapters, "mrdma.google.com", ["rdma"])
    assert seen == ([card if claimed else synthetic] if direct != "None" else [])
    assert name.endswith("-dranet" if claimed else f"-{direct.lower()}") == (direct != "None")


@pytest.mark.parametrize("name", TWINS)
def test_a_class_without_a_recipe_promises_no_more_than_googles_nodes_have(name: str) -> None:
    twin = TWINS[name]
    nodes = [
        one
        for one in GPU_RECIPES.values()
        if (product(one), gpu(one).count) == (product(twin), gpu(twin).count)
    ]
    assert any(_within(twin.spec.node.cpu, one.spec.node.cpu, 1) for one in nodes)
    assert any(_within(twin.spec.node.memory, one.spec.node.memory, GIB) for one in nodes)


def _within(less: str, more: str, of_gke: int) -> bool:
    """Whether a node has so much, with what GKE's own DaemonSets request of it."""
    return parse_quantity(less) <= parse_quantity(more) + of_gke


def test_every_gpu_of_a_recipe_is_known_on_nodes_that_exist_too() -> None:
    assert {product(one) for one in TWINS.values()} == {product(one) for one in GPU_RECIPES.values()}


def test_every_price_has_a_region_a_date_and_a_source_and_spot_capacity_costs_less() -> None:
    prices = {name: one.spec.price for name, one in CATALOGUE.items()}
    assert {name for name in RECIPES if prices[name] is None} == UNPRICED
    assert [name for name in TWINS if prices[name]] == []
    for price in filter(None, prices.values()):
        assert (price.region, price.currency, price.as_of) == ("us-east4", "USD", "2026-07-30")
        assert price.source.startswith("https://")
        assert price.spot is not None
        assert 0 < parse_quantity(price.spot) < parse_quantity(price.on_demand)


def test_gpus_of_one_kind_cost_about_the_same_on_all_their_nodes() -> None:
    each: dict[str, set[Decimal]] = {}
    for name, one in CATALOGUE.items():
        if one.spec.price and one.spec.all_devices:
            per_gpu = Decimal(parse_quantity(one.spec.price.on_demand)) / gpu(one).count
            each.setdefault(name.split("-")[1], set()).add(per_gpu)
    # L4 nodes have 4 to 32 cores for each GPU.
    assert [name for name, costs in each.items() if max(costs) > min(costs) * Decimal("2.5")] == []


def test_names_say_who_makes_the_nodes() -> None:
    assert {name for name in CATALOGUE if name.startswith("gke-")} == set(RECIPES)
    assert {name for name in CATALOGUE if name.startswith("nvidia-")} == set(TWINS)
    assert [name for name, one in CATALOGUE.items() if not one.spec.description] == []
