"""The kubeconfig of a GKE cluster, from what its Cluster resource says once it stands."""

from typing import Any

import pulumi

from components.cloud import Cloud
from inferfleet.gke.kubeconfig import kubeconfig
from inferfleet.gke.values import CloudCluster


def gke_kubeconfig(plan: CloudCluster, cluster: Cloud) -> pulumi.Output[str]:
    """Unknown until the cluster is there: its `id` is, whatever the provider says of its endpoints."""

    def text(values: list[Any]) -> str:
        _, endpoints, address, auth = values
        if plan.endpoint == "DNS":
            return kubeconfig(plan.cluster, host=endpoints["dnsEndpointConfig"]["endpoint"], ca=None)
        return kubeconfig(plan.cluster, host=address, ca=auth["clusterCaCertificate"])

    return pulumi.Output.all(
        cluster.id,
        cluster.output("controlPlaneEndpointsConfig"),
        cluster.output("endpoint"),
        cluster.output("masterAuth"),
    ).apply(text)
