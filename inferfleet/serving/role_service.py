"""The Service of a role that serves no requests of its deployment: how other roles reach it."""

from typing import Any

from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.fleet import names
from inferfleet.fleet.roles import engine_of, port_of
from inferfleet.serving.metadata import metadata
from inferfleet.serving.pod.template import PORT_NAME
from inferfleet.serving.workload import unawaited


def role_service(*, deployment: ModelDeployment, role: str, stack: str) -> dict[str, Any]:
    """Return the Service over the pods that answer for a role on one cluster, on the port of its engine.

    Nothing waits for it: the provider would wait for endpoints, and its pods are awaited themselves.
    """
    key = deployment.metadata.key
    return unawaited(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata(
                names.of_role(key, role),
                stack=stack,
                namespace=deployment.metadata.namespace,
                deployment=key,
                labels={names.ROLE: role},
            ),
            "spec": {
                "selector": names.role_selector(key, role),
                "ports": [
                    {
                        "name": PORT_NAME,
                        "protocol": "TCP",
                        "port": port_of(engine_of(deployment, role)),
                        "targetPort": PORT_NAME,
                    }
                ],
            },
        }
    )
