"""Edits of the cluster, which has a replica on it, and of the deployment."""

from gke_edits import Edit
from gke_edits_stack import POOLS

GKE, ENGINE = "spec.cluster.gke", "spec.workers.template.spec.containers[0]"
_ENDPOINT = "controlPlaneEndpointsConfig"

EDITS = (
    Edit("cordoned", (("east", "spec.state", "cordoned"),)),
    Edit(
        "another release channel",
        (("east", f"{GKE}.releaseChannel", "RAPID"),),
        {"Cluster east": "update releaseChannel.channel"},
    ),
    Edit(
        "a label of machines",
        (("east", f"{GKE}.labels", {"team": "ml"}),),
        {
            "Cluster east": "update resourceLabels.team",
            **{
                f"NodePool east/{pool}": "update nodeConfig.resourceLabels.team"
                for pool in (*POOLS, "system")
            },
        },
    ),
    Edit(
        "nodes with addresses of their own",
        # Of pools that are made later: those that stand still need the way out of their network.
        (("east", f"{GKE}.privateNodes", False),),
        {"Cluster east": "update privateClusterConfig.enablePrivateNodes"},
    ),
    Edit(
        "the API server by its address",
        (("east", f"{GKE}.controlPlaneEndpoint", "IP"),),
        # Its kubeconfig is unknown until then, and nothing in the cluster is touched.
        {
            "Cluster east": f"update {_ENDPOINT}.dnsEndpointConfig.allowExternalTraffic, "
            f"{_ENDPOINT}.ipEndpointsConfig.enabled",
            "kubernetes east": "update",
        },
    ),
    Edit(
        "another machine for the system pool",
        (("east", f"{GKE}.systemPool.machineType", "e2-standard-8"),),
        {"NodePool east/system": "update nodeConfig.machineType"},
    ),
    Edit(
        "another block of addresses",
        (("east", f"{GKE}.network.block", "10.128.0.0/14"),),
        refused="cluster east has immutable settings that would change, so it would have to be "
        "replaced: network.block 10.0.0.0/14 -> 10.128.0.0/14",
    ),
    Edit(
        "another project",
        (("east", f"{GKE}.project", "inferfleet-other"),),
        refused="cluster east has 1 replica and would be replaced by another: project inferfleet-test -> "
        "inferfleet-other",
    ),
    Edit(
        "a cluster renamed",
        (("east", "metadata.name", "orient"),),
        refused="the lock has 1 replica of ml/chat on cluster east, but that cluster has no document",
    ),
    Edit(
        "one replica more",
        (("chat", "spec.replicas", 2),),
        {
            "Deployment east/ml/chat-decode-fixed": "update spec.replicas",
            "PodDisruptionBudget east/ml/chat-decode": "create",
        },
    ),
    Edit(
        "another image",
        (("chat", f"{ENGINE}.image", "docker.io/vllm/vllm-openai:v0.32.1"),),
        {"Deployment east/ml/chat-decode-fixed": "update spec.template.spec.containers.image"},
    ),
)
