"""ExistingCluster: the Kubernetes provider of a cluster that this stack did not make."""

import pulumi
import pulumi_kubernetes as kubernetes

from components.cluster_provider import cluster_provider
from inferfleet.desired.values import Connection


class ExistingCluster(pulumi.ComponentResource):
    """Creates nothing: holds the one provider through which everything on the cluster is registered.

    `kubeconfig` is the file's text.
    """

    provider: kubernetes.Provider

    def __init__(
        self,
        name: str,
        plan: Connection,
        kubeconfig: pulumi.Input[str],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("inferfleet:components:ExistingCluster", name, None, opts)
        self.provider = cluster_provider(name, plan, kubeconfig, parent=self)
        self.register_outputs({})
