"""Registers what resources.json says: Google's resources, and one object inside a cluster of theirs."""

import json
from pathlib import Path
from typing import Any

import pulumi

CLUSTER = "gcp:container/cluster:Cluster"


class Cloud(pulumi.CustomResource):
    """Any resource of Google's, from its inputs."""

    endpoint: pulumi.Output[str]
    masterAuth: pulumi.Output[dict[str, Any]]  # noqa: N815  (its name on the wire)

    def __init__(self, token: str, name: str, inputs: dict[str, Any], opts: pulumi.ResourceOptions) -> None:
        more = {"endpoint": None, "masterAuth": None} if token == CLUSTER else {}
        super().__init__(token, name, {**more, **inputs}, opts)


def kubeconfig(endpoint: str, auth: dict[str, Any]) -> str:
    certificate = auth["clusterCaCertificate"]
    server = {"server": f"https://{endpoint}", "certificate-authority-data": certificate}
    login = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "gke-gcloud-auth-plugin",
        "interactiveMode": "Never",
        "provideClusterInfo": True,
    }
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "it", "cluster": server}],
        "users": [{"name": "it", "user": {"exec": login}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "current-context": "it",
    }
    return json.dumps(config)


google = pulumi.ProviderResource(
    "gcp", "gcp", {"project": "acme", "region": "us-east5"}, pulumi.ResourceOptions(version="10.2.0")
)
made: dict[str, Cloud] = {}
for one in json.loads(Path("resources.json").read_text()):
    options = pulumi.ResourceOptions(
        provider=google,
        depends_on=[made[name] for name in one.get("after", [])],
        ignore_changes=one.get("ignore"),
    )
    made[one["name"]] = Cloud(one["token"], one["name"], one["inputs"], options)

if Path("object.json").exists():
    cluster = made["east"]
    text = pulumi.Output.all(cluster.endpoint, cluster.masterAuth).apply(lambda both: kubeconfig(*both))
    inside = pulumi.ProviderResource(
        "kubernetes", "east", {"kubeconfig": text, "clusterIdentifier": "gke/acme/us-east5/east"}
    )
    thing = json.loads(Path("object.json").read_text())
    pulumi.CustomResource(
        f"kubernetes:{thing['apiVersion']}:{thing['kind']}",
        f"east/{thing['metadata']['name']}",
        thing,
        pulumi.ResourceOptions(provider=inside, depends_on=list(made.values())),
    )
