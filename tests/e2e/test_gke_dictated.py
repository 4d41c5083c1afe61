"""A cluster as an organisation dictates it: in its Shared VPC, under its policies, with its keys, tags and
account, without a public address. What it lacks is refused before anything is made.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from asking import serving, until, url
from documents import Document, model, service
from gke_edits_stack import kind
from gke_fleet import Fleet, fleet, gke, l4

from inferfleet.cloud.gke.facts.schema import ACCOUNT, CLUSTER, NETWORK, SUBNETWORK
from sandbox.gcp import faults
from sandbox.gcp.rules.policies import CONSTRAINTS

STACK, HOST, REGION = "dictated", "acme-net", "us-central1"
KEY = f"projects/acme-keys/locations/{REGION}/keyRings/gke/cryptoKeys/all"
ADDRESS = "gpu-nodes@inferfleet-test.iam.gserviceaccount.com"
EXISTING = {"project": HOST, "name": "vpc", "subnetwork": "gpus", "podsRange": "pods", "servicesRange": "svc"}
KEYS = {"databaseEncryption": KEY, "bootDiskKmsKey": KEY}
DICTATED: dict[str, Any] = {
    "network": {"existing": EXISTING},
    "serviceAccount": ADDRESS,
    "networkTags": ["egress-inspected"],
    "controlPlaneEndpoint": "IP",
    "controlPlaneAccess": "Private",
    **KEYS,
}
PUBLIC = "gke-l7-regional-external-managed"
PODS = "spec.cluster.gke.network.existing.podsRange"
UNREAD = (
    *("compute.networks.get", "compute.networks.getEffectiveFirewalls", "compute.subnetworks.get"),
    "orgpolicy.policy.get",
)


def far(*, without: tuple[str, ...] = (), **changed: Any) -> Document:
    """The cluster as it is dictated, with other fields, or without some."""
    fields = {name: value for name, value in (DICTATED | changed).items() if name not in without}
    pool = l4(nodeCount=1, zones=[f"{REGION}-a"], resourceLabels={"team": "chat"})
    return gke("far", REGION, pool, **fields)


def public(document: Document) -> Document:
    document["spec"]["serving"]["gateway"]["className"] = PUBLIC
    return document


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A stack whose organisation has made what it dictates; nothing is deployed."""
    models = [model("small", on="far"), service("chat", small=1)]
    with fleet(tmp_path_factory.mktemp(STACK), STACK, clusters=[far()], models=models) as made:
        _organisation(made)
        yield made


@pytest.fixture(scope="module")
def given(one: Fleet) -> list[str]:
    """IDs of what the organisation made."""
    return one.left()[0]


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (
            far(without=("databaseEncryption",)),
            "Error 412: Constraint constraints/gcp.restrictNonCmekServices violated for project "
            "inferfleet-test. A CMEK key is required for the database of the cluster",
        ),
        (
            far(authorizedNetworks=["203.0.113.0/24"]),
            'Invalid master authorized networks: network "203.0.113.0/24" is not a reserved network',
        ),
        (
            far(network={"existing": EXISTING | {"podsRange": "podz"}}),
            "Secondary range 'podz' does not exist in subnetwork 'gpus'; it has: pods, svc",
        ),
    ],
    ids=["keys", "private endpoint", "shared vpc"],
)
def test_who_may_not_read_what_is_dictated_hears_google_before_anything_is_made(
    one: Fleet, given: list[str], document: Document, words: str
) -> None:
    for permission in UNREAD:
        faults.change(one.places.cloud, faults.with_denied(permission))
    # Of a cluster that was never made the lock is no memory.
    one.project.lock_file.unlink(missing_ok=True)
    one.project.write("clusters", document)
    refused = one.project.up()
    assert refused.code != 0
    assert words in refused.output
    assert one.left() == (given, [], [])


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (far(without=("databaseEncryption",)), "spec.cluster.gke.databaseEncryption"),
        (far(without=("bootDiskKmsKey",)), "spec.cluster.gke.bootDiskKmsKey"),
        (far(privateNodes=False), "spec.cluster.gke.privateNodes"),
        (far(network={"existing": EXISTING | {"podsRange": "podz"}}), PODS),
        (public(far()), "spec.serving.gateway.className"),
    ],
    ids=["database", "disks", "public nodes", "shared vpc", "external load balancer"],
)
def test_a_preview_refuses_the_field(one: Fleet, given: list[str], document: Document, path: str) -> None:
    _readable(one)
    one.project.lock_file.unlink(missing_ok=True)
    one.project.write("clusters", document)
    refused = one.project.preview()
    assert (refused.code != 0, refused.operations) == (True, {})
    assert path in refused.output
    assert one.left() == (given, [], [])


def test_as_it_is_dictated_the_cluster_is_made_and_serves(one: Fleet, given: list[str]) -> None:
    _readable(one)
    one.project.lock_file.unlink(missing_ok=True)
    one.project.write("clusters", far())
    one.up()
    assert serving(url(one, "far", "ml/chat"), requests=2)
    made = [record for record in one.records() if record.id not in given]
    assert sorted(record.token.rpartition(":")[2] for record in made) == ["Cluster", "NodePool", "NodePool"]
    [cluster] = [record.state for record in made if record.token == CLUSTER]
    assert cluster["network"] == f"projects/{HOST}/global/networks/vpc"
    assert cluster["databaseEncryption"] == {"state": "ENCRYPTED", "keyName": KEY}
    assert cluster["privateClusterConfig"]["enablePrivateEndpoint"] is True
    nodes = [cluster["nodeConfig"], *(pool.state["nodeConfig"] for pool in one.pools("far").values())]
    for each in nodes:
        assert (each["serviceAccount"], each["bootDiskKmsKey"]) == (ADDRESS, KEY)
        assert each["tags"] == ["egress-inspected"]
        assert each["shieldedInstanceConfig"]["enableSecureBoot"] is True
    assert one.pools("far")["l4"].state["nodeConfig"]["resourceLabels"]["team"] == "chat"
    assert one.preview().operations == {}


def test_a_gateway_that_a_policy_forbids_waits_for_an_address_in_googles_words(one: Fleet) -> None:
    listener = {"name": "http", "protocol": "HTTP", "port": 8080}
    gateway = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": {"name": "public", "namespace": "default"},
        "spec": {"gatewayClassName": PUBLIC, "listeners": [listener]},
    }
    one.kubectl("far").create([gateway])
    status: dict[str, Any] = {}

    def answered() -> bool:
        [found] = [each for each in one.items("far", "gateways") if each["metadata"]["name"] == "public"]
        status.update(found.get("status") or {})
        return any("violated" in each["message"] for each in status.get("conditions") or ())

    until("Google has answered", answered)
    assert not status.get("addresses")
    [told] = [each for each in status["conditions"] if each["type"] == "Programmed"]
    assert (told["status"], told["message"]) == (
        "False",
        "error cause: gceSync: generic::failed_precondition: Insert: Constraint "
        "constraints/compute.restrictLoadBalancerCreationForTypes violated for projects/inferfleet-test. "
        f"Forwarding Rule projects/inferfleet-test/regions/{REGION}/forwardingRules/gkegw1 of type "
        "EXTERNAL_MANAGED_HTTP_HTTPS is not allowed.",
    )
    one.kubectl("far")("delete", "gateway", "public", "-n", "default")


def test_a_pool_without_secure_boot_is_refused_in_googles_words(one: Fleet) -> None:
    bare = kind("bare", "g2-standard-8", "nvidia-l4", 1, product="NVIDIA L4", driver="INSTALLATION_DISABLED")
    document = far()
    pool = {"name": "bare", "className": "bare", "nodeCount": 1, "zones": [f"{REGION}-a"]}
    document["spec"]["nodePools"].append(pool)
    one.project.write("clusters", document, bare)
    refused = one.project.up()
    assert refused.code != 0
    assert (
        "Constraint constraints/compute.requireShieldedVm violated for project inferfleet-test. Secure Boot "
        "is not enabled in the 'shielded_instance_config' field."
    ) in refused.output
    assert sorted(one.pools("far")) == ["l4", "system"]


def test_the_end_of_the_stack_leaves_what_the_organisation_made(one: Fleet, given: list[str]) -> None:
    one.destroy()
    assert one.left() == (given, [], [])


def _organisation(made: Fleet) -> None:
    """Make the Shared VPC and the account, and enforce every policy."""
    within = {"project": HOST, "region": REGION, "network": f"projects/{HOST}/global/networks/vpc"}
    ranges = {"pods": "10.32.0.0/16", "svc": "10.33.0.0/20"}
    secondary = [{"rangeName": name, "ipCidrRange": block} for name, block in ranges.items()]
    nodes = {"ipCidrRange": "10.0.0.0/24", "privateIpGoogleAccess": True, "secondaryIpRanges": secondary}
    proxies = {"purpose": "REGIONAL_MANAGED_PROXY", "role": "ACTIVE", "ipCidrRange": "10.1.0.0/23"}
    made.bring(NETWORK, name="vpc", project=HOST, autoCreateSubnetworks=False)
    made.bring(SUBNETWORK, name="gpus", **within, **nodes)
    made.bring(SUBNETWORK, name="proxies", **within, **proxies)
    made.bring(ACCOUNT, accountId="gpu-nodes", project="inferfleet-test", displayName="nodes")
    for constraint in CONSTRAINTS:
        faults.change(made.places.cloud, faults.with_policy(constraint))


def _readable(made: Fleet) -> None:
    """Everybody may read again what is dictated."""
    faults.change(made.places.cloud, lambda old: replace(old, denied=()))
