"""The Kubernetes provider of a cluster: the one way to everything on it."""

import pulumi
import pulumi_kubernetes as kubernetes

from inferfleet.desired.values import Connection


def cluster_provider(
    name: str, plan: Connection, kubeconfig: pulumi.Input[str], *, parent: pulumi.Resource | None
) -> kubernetes.Provider:
    """`kubeconfig` may change (rotated credentials), or be unknown in a preview, without replacing anything,
    because the provider is told which cluster it is by `cluster_identifier`.
    """
    given_up = plan.state in ("lost", "abandoned")
    return kubernetes.Provider(
        name,
        cluster_identifier=plan.identifier,
        kubeconfig=pulumi.Output.secret(kubeconfig),
        context=plan.context,
        # Replacing a ConfigMap or Secret would leave pods without it for a while.
        enable_config_map_mutable=True,
        enable_secret_mutable=True,
        skip_update_unreachable=given_up,
        delete_unreachable=plan.state == "abandoned",
        opts=pulumi.ResourceOptions(
            parent=parent,
            # The file of a cluster that is gone may be gone too; the last one known stays.
            ignore_changes=["kubeconfig", "context"] if given_up else None,
        ),
    )
