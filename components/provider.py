"""The Kubernetes provider of a cluster, through which everything on it is registered."""

import json
from pathlib import Path
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from inferfleet.cloud.provider import provider_of
from inferfleet.cloud.values import CloudCluster
from inferfleet.documents.kinds.inference_cluster import GIVEN_UP, State

# For a cluster that is given up and whose kubeconfig is gone or not used. With an empty text the engine's
# provider would take the kubeconfig that is active on the machine, and so another cluster. No name below
# .invalid can be resolved: https://www.rfc-editor.org/rfc/rfc2606#section-2
# Everybody knows this text, and a file may be named like it (see `_no_file`). So it ends with more bytes
# after its last slash than the 255 that a name in a folder can have.
NOWHERE = (
    json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "nowhere", "cluster": {"server": "https://cluster.invalid"}}],
            "contexts": [{"name": "nowhere", "context": {"cluster": "nowhere"}}],
            "current-context": "nowhere",
        }
    )
    + " " * 256
)


def gke_kubeconfig(plan: CloudCluster, cluster: Any) -> pulumi.Output[str]:
    """Return the kubeconfig of a `Cluster` of pulumi_gcp; unknown until it exists, as its `id` is."""

    def written(_: str) -> pulumi.Output[str]:
        if plan.endpoint == "DNS":
            host, ca = cluster.control_plane_endpoints_config.dns_endpoint_config.endpoint, None
        elif plan.endpoint == "IP":
            host, ca = cluster.endpoint, cluster.master_auth.cluster_ca_certificate
        else:
            private = cluster.private_cluster_config
            host, ca = private.private_endpoint, cluster.master_auth.cluster_ca_certificate
        return pulumi.Output.all(host, ca).apply(
            lambda values: provider_of(plan).kubeconfig(
                plan.cluster, host=values[0], ca=values[1], proxy=plan.proxy
            )
        )

    located: pulumi.Output[str] = cluster.id.apply(written)
    return located


def cluster_provider(
    name: str,
    identifier: pulumi.Input[str],
    kubeconfig: pulumi.Input[str],
    *,
    state: State,
    context: str | None,
    parent: pulumi.Resource,
) -> kubernetes.Provider:
    """Register the provider of a cluster.

    `kubeconfig` may change (rotated credentials), or be unknown in a preview, without replacing anything,
    because `identifier` says which cluster it is.
    """
    given_up = state in GIVEN_UP
    return kubernetes.Provider(
        name,
        cluster_identifier=identifier,
        kubeconfig=pulumi.Output.secret(kubeconfig).apply(_no_file),
        context=context,
        # Replacing a ConfigMap or Secret would leave pods without it for a while.
        enable_config_map_mutable=True,
        enable_secret_mutable=True,
        skip_update_unreachable=given_up,
        delete_unreachable=state == "abandoned",
        opts=pulumi.ResourceOptions(
            parent=parent,
            # The file of a cluster that is gone may be gone too: keep the last kubeconfig in the state.
            ignore_changes=["kubeconfig", "context"] if given_up else None,
        ),
    )


def _no_file(kubeconfig: str) -> str:
    """Return the text of a kubeconfig. Raises pulumi.RunError where a file has this text for its name.

    The engine's provider would read that file instead, from the project's folder, and so what a pull request
    brought: parseKubeconfigString in provider/pkg/provider/util.go of pulumi-kubernetes 4.25.
    """
    try:
        is_file = Path(kubeconfig).exists()
    except OSError:  # such as for its length: no file can be named so
        is_file = False
    if is_file:
        raise pulumi.RunError(
            "a file in the project's folder has the text of a kubeconfig for its name, and Pulumi would read "
            "that file instead. Remove it, and find out who made it: no tool makes such files"
        )
    return kubeconfig
