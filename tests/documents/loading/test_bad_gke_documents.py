"""Every kind of mistake in a cluster that the stack creates and in a recipe, and its message."""

from collections.abc import Callable

import pytest
from fleet_text import Mistake

from inferfleet.documents import Documents, Problem, Where

BASE = """\
apiVersion: inferfleet.dev/v1alpha1
kind: InferenceClass
metadata: {name: l4}
spec:
  node: {cpu: 8, memory: 32Gi}
  resources: {gpu: {count: 1, memory: 24Gi}}
  provisioning:
    provider: GKE
    gke: {machineType: g2-standard-12, accelerator: {type: nvidia-l4, count: 1}}
---
apiVersion: inferfleet.dev/v1alpha1
kind: InferenceCluster
metadata: {name: east}
spec:
  cluster:
    source: GKE
    gke:
      project: acme-prod
      region: us-east5
  nodePools:
    - {name: l4, className: l4, maxNodeCount: 3}
"""
GKE = "      region: us-east5\n"
POOL = "maxNodeCount: 3"
RECIPE = "count: 1}}\n---"

# What is replaced, by what; then line, path, what, next step of the one problem that makes.
CASES = {
    "both sources": (
        "source: GKE", "source: GKE\n    existing: {kubeconfig: {path: x}}",
        15, "spec.cluster", "source GKE has both blocks, existing and gke", "Keep gke",
    ),
    "source without gke": (
        "source: GKE\n    gke:\n      project: acme-prod\n      region: us-east5\n", "source: GKE\n",
        15, "spec.cluster", "source GKE needs a block gke", "Add gke: {project: ..., region: ...}",
    ),
    "project": (
        "acme-prod", "Acme",
        18, "spec.cluster.gke.project",
        "project 'Acme' must be a project ID: 6 to 30 lowercase letters, digits and '-'", "Change it",
    ),
    "zone for a region": (
        "us-east5", "us-east5-a",
        19, "spec.cluster.gke.region",
        "region 'us-east5-a' must be a region such as us-east5 (zones belong to the pools)", "Change it",
    ),
    "release channel": (
        GKE, GKE + "      releaseChannel: REGULER\n",
        20, "spec.cluster.gke.releaseChannel",
        "releaseChannel 'REGULER' is not one of RAPID, REGULAR, STABLE, EXTENDED", "Did you mean REGULAR?",
    ),
    "version": (
        GKE, GKE + "      minVersion: v1.34\n",
        20, "spec.cluster.gke.minVersion",
        "minVersion 'v1.34' must be a version: 1.34 or 1.34.1-gke.1829001", "Change it",
    ),
    "version that is a number": (
        GKE, GKE + "      minVersion: 1.30\n",
        20, "spec.cluster.gke.minVersion", "minVersion must be text, not 1.30", "Quote it",
    ),
    "zone of the cluster elsewhere": (
        GKE, GKE + "      zones: [us-east5-a, us-east4-a]\n",
        20, "spec.cluster.gke.zones[1]", "zone us-east4-a is not in region us-east5",
        "Use zones of the region",
    ),
    "zone twice": (
        GKE, GKE + "      zones: [us-east5-a, us-east5-a]\n",
        20, "spec.cluster.gke.zones[1]", "zone us-east5-a is named twice", "Name it once",
    ),
    "no range": (
        GKE, GKE + "      network: {block: 10.4}\n",
        20, "spec.cluster.gke.network.block",
        "block must be text, not 10.4, and as text too block '10.4' is not a range of IPv4 addresses",
        "Write it like 10.4.0.0/14",
    ),
    "not a range": (
        GKE, GKE + "      network: {block: 10.4.0.0/33}\n",
        20, "spec.cluster.gke.network.block", "block '10.4.0.0/33' is not a range of IPv4 addresses",
        "Write it like 10.4.0.0/14",
    ),
    "range that starts elsewhere": (
        GKE, GKE + "      network: {block: 10.5.0.0/14}\n",
        20, "spec.cluster.gke.network.block", "block 10.5.0.0/14 has host bits set",
        "Write 10.4.0.0/14",
    ),
    "range of others": (
        GKE, GKE + "      network: {block: 127.0.0.0/16}\n",
        20, "spec.cluster.gke.network.block",
        "block 127.0.0.0/16 must be a private range between /10 and /16",
        "Use one inside 10.0.0.0/8 or 172.16.0.0/12",
    ),
    "range too small": (
        GKE, GKE + "      network: {block: 10.4.0.0/17}\n",
        20, "spec.cluster.gke.network.block",
        "block 10.4.0.0/17 must be a private range between /10 and /16",
        "Use one inside 10.0.0.0/8 or 172.16.0.0/12",
    ),
    "existing network without a range": (
        GKE, GKE + "      network: {existing: {name: a, subnetwork: b, podsRange: c}}\n",
        20, "spec.cluster.gke.network.existing.servicesRange", "field servicesRange is missing",
        "Add servicesRange",
    ),
    "authorized networks of the DNS endpoint": (
        GKE, GKE + "      authorizedNetworks: [203.0.113.0/24]\n",
        17, "spec.cluster.gke",
        "authorizedNetworks apply to the IP endpoint; IAM controls access to the DNS endpoint",
        "Remove authorizedNetworks, or use controlPlaneEndpoint: IP",
    ),
    "private access to the DNS endpoint": (
        GKE, GKE + "      controlPlaneAccess: Private\n",
        17, "spec.cluster.gke",
        "controlPlaneAccess is about the IP endpoint; IAM controls access to the DNS endpoint",
        "Write controlPlaneEndpoint: IP, or remove controlPlaneAccess",
    ),
    "cloud label": (
        GKE, GKE + "      labels: {Team: a}\n",
        20, "spec.cluster.gke.labels.Team", "'Team' is not a key of a Google Cloud label",
        "Use at most 63 lowercase letters, digits, '-' and '_', a letter first",
    ),
    "value of a cloud label": (
        GKE, GKE + "      labels: {team: A}\n",
        20, "spec.cluster.gke.labels.team", "'A' is not a value of a Google Cloud label",
        "Use at most 63 lowercase letters, digits, '-' and '_'",
    ),
    "order of replacement": (
        GKE, GKE + "      replace: {order: CreateLast}\n",
        20, "spec.cluster.gke.replace.order",
        "order 'CreateLast' is not one of CreateFirst, DeleteFirst", "Did you mean CreateFirst?",
    ),
    "node selector of a pool that is created": (
        POOL, POOL + ", nodeSelector: {gpu: l4}",
        21, "spec.nodePools[0].nodeSelector",
        "nodeSelector is for nodes that exist; inferfleet labels the nodes of pools that it creates",
        "Remove nodeSelector",
    ),
    "zone of a pool elsewhere": (
        POOL, POOL + ", zones: [us-central1-a]",
        21, "spec.nodePools[0].zones[0]", "zone us-central1-a is not in region us-east5",
        "Use zones of the region",
    ),
    "region for a zone": (
        POOL, POOL + ", zones: [us-east5]",
        21, "spec.nodePools[0].zones[0]", "entry 0 of zones 'us-east5' must be a zone such as us-east5-a",
        "Change it",
    ),
    "capacity model": (
        POOL, POOL + ", capacity: {model: spot}",
        21, "spec.nodePools[0].capacity.model",
        "model 'spot' is not one of OnDemand, Spot, FlexStart, Queued, Reservation", "Did you mean Spot?",
    ),
    "run too long": (
        POOL, POOL + ", capacity: {model: Queued, maxRunDuration: 169h}",
        21, "spec.nodePools[0].capacity.maxRunDuration",
        "maxRunDuration 169h must be between 10m and 168h", "Change it",
    ),
    "run without unit": (
        POOL, POOL + ", capacity: {model: Queued, maxRunDuration: 3600}",
        21, "spec.nodePools[0].capacity.maxRunDuration", "maxRunDuration 3600 has no unit",
        "Write it like 90s, 30m or 2h",
    ),
    "provider": (
        "provider: GKE", "provider: GCP",
        8, "spec.provisioning.provider", "provider 'GCP' is not one of GKE, EKS, AKS, Nebius, Vultr",
        "Choose one: AKS, EKS, GKE, Nebius, Vultr",
    ),
    "block of another provider": (
        "provider: GKE", "provider: EKS",
        7, "spec.provisioning", "provider EKS needs the block eks and no other, got gke",
        "Write eks: {...} alone",
    ),
    "two blocks": (
        "provider: GKE", "provider: GKE\n    eks: {instanceType: g6.xlarge}",
        7, "spec.provisioning", "provider GKE needs the block gke and no other, got gke, eks",
        "Write gke: {...} alone",
    ),
    "machine type": (
        "g2-standard-12", "G2",
        9, "spec.provisioning.gke.machineType",
        "machineType 'G2' must be lowercase letters, digits and '-', as Google writes it", "Change it",
    ),
    "accelerators": (
        RECIPE, RECIPE.replace("1", "0"),
        9, "spec.provisioning.gke.accelerator.count", "count must be at least 1, not 0", "Change the number",
    ),
    "partition": (
        RECIPE, RECIPE.replace("1", "1, partitionSize: 10gb"),
        9, "spec.provisioning.gke.accelerator.partitionSize",
        "partitionSize '10gb' must be a partition such as 1g.10gb", "Change it",
    ),
    "pods on one GPU": (
        RECIPE, RECIPE.replace("1", "1, sharing: {strategy: MPS, maxClientsPerGpu: 49}"),
        9, "spec.provisioning.gke.accelerator.sharing.maxClientsPerGpu",
        "maxClientsPerGpu must be at most 48, not 49", "Change the number",
    ),
    "GPUDirect": (
        RECIPE, RECIPE.replace("}}", "}, networking: {gpuDirect: TCP}}"),
        9, "spec.provisioning.gke.networking.gpuDirect",
        "gpuDirect 'TCP' is not one of None, TCPX, TCPXO, RDMA", "Did you mean TCPX?",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_mistake_is_told_with_place_value_rule_and_next_step(mistake: Mistake, case: str) -> None:
    old, new, line, *told = CASES[case]
    assert mistake(BASE, old, new) == (Where("a.yaml", line), *told)


def test_ai_zones_are_zones_of_their_region(
    load_text: Callable[..., Documents], problems_in: Callable[..., list[Problem]]
) -> None:
    text = BASE.replace(POOL, f"{POOL}, zones: [us-east5-ai1a, us-east5-a]")
    assert load_text(text).clusters["east"].spec.node_pools[0].zones == ("us-east5-ai1a", "us-east5-a")
    assert [problem.what for problem in problems_in(text.replace("us-east5-ai1a", "us-east4-ai1a"))] == [
        "zone us-east4-ai1a is not in region us-east5"
    ]


def test_without_a_mistake_there_is_a_cluster_to_create(load_text: Callable[..., Documents]) -> None:
    cluster = load_text(BASE).clusters["east"].spec
    assert (cluster.cluster.source, cluster.serving.gateway.class_name) == ("GKE", "gke-l7-rilb")


def test_a_recipe_of_another_provider_is_kept_as_it_is_written(load_text: Callable[..., Documents]) -> None:
    text = BASE.replace("provider: GKE", "provider: EKS").replace(
        "    gke: {machineType", "    eks: {machineType"
    )
    provisioning = load_text(text).classes["l4"].spec.provisioning
    assert provisioning
    assert provisioning.eks == {
        "machineType": "g2-standard-12",
        "accelerator": {"type": "nvidia-l4", "count": 1},
    }


def test_a_run_is_held_in_seconds(load_text: Callable[..., Documents]) -> None:
    text = BASE.replace(POOL, f"{POOL}, capacity: {{model: FlexStart, maxRunDuration: 168h}}")
    assert load_text(text).clusters["east"].spec.node_pools[0].capacity.max_run_duration == 604_800


def test_all_mistakes_of_a_cluster_are_told_at_once(problems_in: Callable[..., list[Problem]]) -> None:
    text = BASE.replace("acme-prod", "x").replace(POOL, f"{POOL}, zones: [a]").replace("nvidia-l4", "L4")
    assert [problem.path for problem in problems_in(text)] == [
        "spec.provisioning.gke.accelerator.type",
        "spec.cluster.gke.project",
        "spec.nodePools[0].zones[0]",
    ]
