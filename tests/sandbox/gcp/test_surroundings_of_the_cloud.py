"""What previews say of somebody's network and of policies, by their own requests to the simulated cloud."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cloud_double import create, empty_cloud, served
from fake_google import service_account
from small_gke import decided, written

from inferfleet.clusters.connections.google import addresses
from inferfleet.clusters.preflight.quotas import cloud_problems
from inferfleet.documents.problems import Problem
from inferfleet.fleet.lock.lock import Lock
from sandbox.gcp import faults
from sandbox.gcp.operations import Cloud

KEY = "projects/keys/locations/us-east5/keyRings/gke/cryptoKeys/nodes"
NETWORK = "network: {existing: {name: shared, subnetwork: nodes, podsRange: pods, servicesRange: services}}"
APIS = ("CONTAINER", "CLOUDQUOTAS", "SERVICEUSAGE", "CLOUDRESOURCEMANAGER", "ORGPOLICY")
Looked = Callable[..., list[tuple[str, str, str]]]


@pytest.fixture
def cloud(tmp_path: Path) -> Cloud:
    return empty_cloud(tmp_path / "cloud")[0]


@pytest.fixture
def looked(tmp_path: Path, cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> Looked:
    """Severity, path and words of what is said of a cluster with further fields."""

    def look(gke: str = "", *, gateway: str = "gke-l7-rilb") -> list[tuple[str, str, str]]:
        documents = written(tmp_path, gke=gke, gateway=gateway)
        with served(cloud) as address:
            account = service_account(tmp_path / "account.json", f"{address}/token")
            monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(account))
            there = {f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{name}": f"{address}/" for name in APIS}
            there["CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE"] = f"{address}/compute/v1/"
            found: tuple[Problem, ...] = cloud_problems(
                decided(documents)[0], documents, Lock(), google=addresses(there), seconds=300
            )
        return [(one.severity, one.path, one.what.partition(" (")[0]) for one in found]

    return look


def in_force(cloud: Cloud, constraint: str) -> None:
    faults.change(cloud.store.folder, faults.with_policy(constraint))


def shared(cloud: Cloud, primary: str, pods: str, *, access: bool = True) -> None:
    """Make the network of somebody else, with a subnetwork for proxies."""

    def make(token: str, name: str, **inputs: Any) -> None:
        own = {"name": name, "project": "acme-ml", **inputs}
        create(cloud, {"token": f"gcp:compute/{token}", "name": name, "inputs": own})

    make("network:Network", "shared", autoCreateSubnetworks=False)
    within = {"network": "projects/acme-ml/global/networks/shared", "region": "us-east5"}
    ranges = [
        {"rangeName": "pods", "ipCidrRange": pods},
        {"rangeName": "services", "ipCidrRange": "10.5.0.0/20"},
    ]
    make(
        "subnetwork:Subnetwork",
        "nodes",
        ipCidrRange=primary,
        privateIpGoogleAccess=access,
        secondaryIpRanges=ranges,
        **within,
    )
    proxies = {"purpose": "REGIONAL_MANAGED_PROXY", "role": "ACTIVE", "ipCidrRange": "10.6.0.0/23"}
    make("subnetwork:Subnetwork", "proxies", **proxies, **within)


def test_in_a_project_without_policies_nothing_is_said(cloud: Cloud, looked: Looked) -> None:
    assert looked() == []
    shared(cloud, "10.0.0.0/24", "10.4.0.0/16")
    assert looked(NETWORK) == []


def test_a_project_without_external_load_balancers_is_told_before_the_first_node(
    cloud: Cloud, looked: Looked
) -> None:
    in_force(cloud, "compute.restrictLoadBalancerCreationForTypes")
    assert looked() == []
    assert looked(gateway="gke-l7-regional-external-managed") == [
        (
            "error",
            "spec.serving.gateway.className",
            "cluster east has a gateway of class gke-l7-regional-external-managed, a load balancer of type "
            "EXTERNAL_MANAGED_HTTP_HTTPS, which policy compute.restrictLoadBalancerCreationForTypes of "
            "project acme-ml refuses: nodes would be billed and nothing reached",
        )
    ]


def test_keys_and_public_addresses_that_policies_forbid_are_errors_of_their_fields(
    cloud: Cloud, looked: Looked
) -> None:
    in_force(cloud, "gcp.restrictNonCmekServices")
    in_force(cloud, "compute.vmExternalIpAccess")
    found = [(severity, path) for severity, path, _ in looked("privateNodes: false")]
    assert found == [
        ("error", "spec.cluster.gke.databaseEncryption"),
        ("error", "spec.cluster.gke.bootDiskKmsKey"),
        ("error", "spec.cluster.gke.privateNodes"),
    ]
    assert looked(f"databaseEncryption: {KEY}, bootDiskKmsKey: {KEY}") == []


def test_a_small_subnetwork_of_somebody_is_compared_with_nodes_and_pods(cloud: Cloud, looked: Looked) -> None:
    shared(cloud, "10.0.0.0/29", "10.4.0.0/24", access=False)
    assert looked(NETWORK) == [
        (
            "error",
            "spec.cluster.gke.network.existing.podsRange",
            "range pods of subnetwork nodes has 10.4.0.0/24 for pods of cluster east, which is 1 node of 110 "
            "pods",
        ),
        (
            "error",
            "spec.cluster.gke.network.existing.subnetwork",
            "subnetwork nodes has 10.0.0.0/29 for nodes of cluster east, which is 4 of them",
        ),
        (
            "warning",
            "spec.cluster.gke.network.existing.subnetwork",
            "subnetwork nodes has no Private Google Access, by which nodes without public addresses reach "
            "Google's registry and APIs",
        ),
    ]


@pytest.mark.parametrize(
    "fault", [faults.with_denied("orgpolicy.policy.get"), faults.with_disabled("orgpolicy.googleapis.com")]
)
def test_what_may_not_be_read_is_one_notice_for_the_project(
    cloud: Cloud, looked: Looked, fault: Callable[[faults.Faults], faults.Faults]
) -> None:
    faults.change(cloud.store.folder, fault)
    ((severity, path, what),) = looked("privateNodes: false")
    assert (severity, path) == ("notice", "")
    assert what.startswith(
        "not read: policies compute.restrictLoadBalancerCreationForTypes, compute.vmExternalIpAccess, "
        "gcp.restrictNonCmekServices of project acme-ml, which needs the permission orgpolicy.policy.get: "
        "the Organization Policy API at http"
    )


def test_a_subnetwork_that_may_not_be_read_is_a_notice(cloud: Cloud, looked: Looked) -> None:
    shared(cloud, "10.0.0.0/29", "10.4.0.0/24")
    faults.change(cloud.store.folder, faults.with_denied("compute.subnetworks.get"))
    ((severity, path, what),) = looked(NETWORK)
    assert (severity, path) == ("notice", "")
    assert what.startswith(
        "not read: subnetwork nodes in us-east5 of project acme-ml, which needs the permission "
        "compute.subnetworks.get: the Compute API at http"
    )


def test_a_firewall_of_somebody_that_keeps_out_health_checks_is_a_warning(
    cloud: Cloud, looked: Looked
) -> None:
    shared(cloud, "10.0.0.0/24", "10.4.0.0/16")
    network = "projects/acme-ml/global/networks/shared"
    closed = {
        "name": "closed",
        "project": "acme-ml",
        "network": network,
        "priority": 500,
        "denies": [{"protocol": "all"}],
        "sourceRanges": ["130.211.0.0/22"],
    }
    create(cloud, {"token": "gcp:compute/firewall:Firewall", "name": "closed", "inputs": closed})
    ((severity, path, what),) = looked(NETWORK)
    assert (severity, path) == ("warning", "spec.cluster.gke.network.existing.name")
    assert what.startswith(
        "firewall rule closed of network shared of project acme-ml keeps out 130.211.0.0/22"
    )
    faults.change(cloud.store.folder, faults.with_denied("compute.networks.getEffectiveFirewalls"))
    ((severity, path, what),) = looked(NETWORK)
    assert (severity, path) == ("notice", "")
    assert what.startswith(
        "not read: firewalls of network shared of project acme-ml, which needs the permission"
    )
