"""Inputs of Google's resources that documents pass on in the provider's words."""

from typing import Any

import pytest
from small_clouds import clouds, cluster, made, pool, recipe, resources

from inferfleet.cloud.gke import provider
from inferfleet.cloud.gke.facts.schema import CLUSTER, NODE_POOL, SUBNETWORK
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.problems import of_severity
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import Lock

AT = "spec.cluster.gke.provider.cluster"
STEP = "It is passed on as it is, and the preview shows what the provider says"


def told(*documents: InferenceCluster | InferenceClass) -> dict[str, list[str]]:
    """What is said of the documents beside what is said of any, by severity."""
    loaded = clouds(
        *(one for one in documents if isinstance(one, InferenceCluster)),
        classes=tuple(one for one in documents if isinstance(one, InferenceClass)),
    )
    _, problems = provider.clusters(loaded, Lock(stack="prod"), Plan())
    _, before = provider.clusters(clouds(cluster()), Lock(stack="prod"), Plan())
    usual = {str(problem) for problem in before}
    return {
        severity: [str(one) for one in of_severity(problems, severity) if str(one) not in usual]
        for severity in ("error", "warning", "notice")
    }


def test_inputs_reach_their_resources_beside_those_of_inferfleet() -> None:
    kubelet = {"kubeletConfig": {"podPidsLimit": 4096}}
    of_class = recipe(
        "l4", "g2-standard-48", "nvidia-l4", 4, provider={"nodeConfig": kubelet, "version": "1.34"}
    )
    document = cluster(
        "east",
        pool(provider={"version": "1.35", "nodeConfig": {"metadata": {"disable-legacy-endpoints": "true"}}}),
        provider={"cluster": {"enableIntranodeVisibility": True}, "subnetwork": {"stackType": "IPV4_IPV6"}},
        systemPool={"provider": {"nodeConfig": {"minCpuPlatform": "AMD Milan"}}},
    )
    by_key = resources(made(clouds(document, classes=(of_class,))))
    nodes = by_key[f"{NODE_POOL} east/l4"].inputs["nodeConfig"]
    assert by_key[f"{CLUSTER} east"].inputs["enableIntranodeVisibility"] is True
    assert by_key[f"{SUBNETWORK} east/nodes"].inputs["stackType"] == "IPV4_IPV6"
    assert by_key[f"{NODE_POOL} east/system"].inputs["nodeConfig"]["minCpuPlatform"] == "AMD Milan"
    assert by_key[f"{NODE_POOL} east/l4"].inputs["version"] == "1.35"
    assert nodes["kubeletConfig"] == {"podPidsLimit": 4096}
    assert nodes["metadata"] == {"disable-legacy-endpoints": "true"}
    assert nodes["machineType"] == "g2-standard-48"


def test_what_policies_ask_of_nodes_reaches_the_first_pool_too() -> None:
    key = "projects/keys/locations/us-east5/keyRings/gke/cryptoKeys/nodes"
    account = "nodes@acme-sec.iam.gserviceaccount.com"
    document = cluster(
        serviceAccount=account,
        bootDiskKmsKey=key,
        databaseEncryption=key,
        networkTags=["egress"],
        labels={"cost": "ml"},
        systemPool={"provider": {"nodeConfig": {"metadata": {"block-project-ssh-keys": "true"}}}},
    )
    by_key = resources(made(clouds(document)))
    control_plane = by_key[f"{CLUSTER} east"].inputs
    labels = {
        "cost": "ml",
        "managed-by": "inferfleet",
        "inferfleet-cluster": "east",
        "inferfleet-stack": "prod",
    }
    assert control_plane["databaseEncryption"] == {"state": "ENCRYPTED", "keyName": key}
    assert control_plane["nodeConfig"] == {
        "bootDisk": {"sizeGb": 30, "diskType": "pd-standard"},
        "resourceLabels": labels,
        "tags": ["egress"],
        "bootDiskKmsKey": key,
        "serviceAccount": account,
        "oauthScopes": ["https://www.googleapis.com/auth/cloud-platform"],
        "workloadMetadataConfig": {"mode": "GKE_METADATA"},
        "shieldedInstanceConfig": {"enableSecureBoot": True, "enableIntegrityMonitoring": True},
        "metadata": {"block-project-ssh-keys": "true"},
    }
    for name in ("system", "l4"):
        nodes = by_key[f"{NODE_POOL} east/{name}"].inputs["nodeConfig"]
        assert (nodes["tags"], nodes["bootDiskKmsKey"], nodes["serviceAccount"]) == (["egress"], key, account)
    # An account that exists gets neither roles nor company.
    assert not any("serviceaccount" in resource or "iAMMember" in resource for resource in by_key)


def test_without_iam_the_account_is_made_and_no_binding() -> None:
    by_key = resources(made(clouds(cluster(iam="None"))))
    identity = [key for key in by_key if "serviceaccount" in key or "iAMMember" in key]
    assert identity == ["gcp:serviceaccount/account:Account east/nodes"]


def test_a_reviewer_reads_what_is_passed_on_and_what_a_change_of_it_would_do() -> None:
    document = cluster(
        "east",
        pool(provider={"nodeConfig": {"kubeletConfig": {"podPidsLimit": 4096}, "minCpuPlatform": "x"}}),
        provider={"cluster": {"enableIntranodeVisibility": True, "enableTpu": True}},
    )
    assert told(document) == {
        "error": [],
        "warning": [],
        "notice": [
            f"{AT}: cluster east passes inputs on to Google Cloud as they are: enableIntranodeVisibility, "
            "enableTpu (a change replaces the resource). Nobody here judges what they do",
            "spec.nodePools[0].provider: pool l4 of cluster east passes inputs on to Google Cloud as they "
            "are: "
            "nodeConfig.kubeletConfig.podPidsLimit (a change replaces the nodes), "
            "nodeConfig.minCpuPlatform (a change replaces the resource). Nobody here judges what they do",
        ],
    }


@pytest.mark.parametrize(
    ("inputs", "path", "said"),
    [
        (
            {"location": "us-east1"},
            "location",
            "location, which inferfleet decides. Write spec.cluster.gke.region of the InferenceCluster",
        ),
        (
            {"addonsConfig": {"httpLoadBalancing": {"disabled": True}}},
            "addonsConfig.httpLoadBalancing.disabled",
            "addonsConfig.httpLoadBalancing.disabled, which inferfleet decides. Remove it",
        ),
        (
            {"masterAuthorizedNetworksConfig": {"cidrBlocks": [{"cidrBlock": "0.0.0.0/0"}]}},
            "masterAuthorizedNetworksConfig.cidrBlocks[0].cidrBlock",
            "masterAuthorizedNetworksConfig.cidrBlocks[0].cidrBlock, which inferfleet decides. "
            "Write spec.cluster.gke.authorizedNetworks of the InferenceCluster",
        ),
        (
            {"nodePools": [{"name": "x"}]},
            "nodePools",
            "nodePools, which inferfleet decides. Write spec.nodePools of the InferenceCluster",
        ),
        (
            {"endpoint": "10.0.0.1"},
            "endpoint",
            "endpoint, which Google Cloud answers and takes from nobody. Remove it",
        ),
        (
            {"enableIntranodeVisibility": "yes"},
            "enableIntranodeVisibility",
            "enableIntranodeVisibility: 'yes' is not true or false. Write true or false",
        ),
        (
            {"fleet": ["acme"]},
            "fleet",
            "fleet: a list is not a map. Write a map",
        ),
    ],
)
def test_what_cannot_be_passed_is_refused_with_the_next_step(
    inputs: dict[str, Any], path: str, said: str
) -> None:
    assert told(cluster(provider={"cluster": inputs}))["error"] == [
        f"{AT}.{path}: cluster east passes on {said}"
    ]


def test_what_inferfleet_writes_of_a_block_leaves_the_rest_of_it_open() -> None:
    inputs = {
        "loggingConfig": {"enableComponents": ["SYSTEM_COMPONENTS", "WORKLOADS", "APISERVER"]},
        "ipAllocationPolicy": {"stackType": "IPV4_IPV6"},
        "controlPlaneEndpointsConfig": {"dnsEndpointConfig": {"enableK8sTokensViaDns": True}},
    }
    document = cluster(provider={"cluster": inputs})
    assert told(document)["error"] == []
    control_plane = resources(made(clouds(document)))[f"{CLUSTER} east"].inputs
    assert control_plane["loggingConfig"] == inputs["loggingConfig"]
    assert control_plane["ipAllocationPolicy"] == {
        "clusterSecondaryRangeName": "pods",
        "servicesSecondaryRangeName": "services",
        "stackType": "IPV4_IPV6",
    }
    assert control_plane["controlPlaneEndpointsConfig"]["dnsEndpointConfig"] == {
        "allowExternalTraffic": True,
        "enableK8sTokensViaDns": True,
    }


def test_a_pool_may_have_an_account_a_key_and_tags_of_its_own() -> None:
    own = {"serviceAccount": "batch@acme-ml.iam.gserviceaccount.com", "tags": ["batch"]}
    document = cluster("east", pool(provider={"nodeConfig": own}), networkTags=["egress"])
    assert told(document)["error"] == []
    by_key = resources(made(clouds(document)))
    nodes, of_system = (by_key[f"{NODE_POOL} east/{name}"].inputs["nodeConfig"] for name in ("l4", "system"))
    assert {name: nodes[name] for name in own} == own
    assert of_system["tags"] == ["egress"]


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("initialNodeCount", "nodeCount of the pool or minNodeCount of the pool"),
        ("namePrefix", "name of the pool"),
    ],
)
def test_what_would_replace_a_pool_beside_its_fields_is_refused(name: str, fields: str) -> None:
    document = cluster("east", pool(provider={name: 1}))
    assert told(document)["error"] == [
        f"spec.nodePools[0].provider.{name}: pool l4 of cluster east passes on {name}, which inferfleet "
        f"decides. Write {fields}"
    ]


def test_the_first_pool_has_as_few_pods_per_node_as_the_system_pool() -> None:
    by_key = resources(made(clouds(cluster(systemPool={"maxPodsPerNode": 32}))))
    assert by_key[f"{CLUSTER} east"].inputs["defaultMaxPodsPerNode"] == 32


def test_an_input_that_the_table_lacks_is_passed_on_with_a_warning() -> None:
    document = cluster(provider={"cluster": {"enableIntranodeVisibilty": True}})
    assert told(document)["warning"] == [
        f"{AT}.enableIntranodeVisibilty: cluster east passes on enableIntranodeVisibilty, which the provider "
        f"did not have when its inputs were listed. Did you mean enableIntranodeVisibility? {STEP}"
    ]
    assert resources(made(clouds(document)))[f"{CLUSTER} east"].inputs["enableIntranodeVisibilty"] is True


def test_a_class_of_two_clusters_is_told_once() -> None:
    passing = recipe("l4", "g2-standard-48", "nvidia-l4", 4, provider={"nodeConfig": {"spot": True}})
    assert told(cluster(), cluster("west"), passing)["error"] == [
        "spec.provisioning.gke.provider.nodeConfig.spot: class l4 passes on nodeConfig.spot, which "
        "inferfleet decides. Write spec.nodePools[].capacity.model of the InferenceCluster"
    ]
