"""Who may read the metrics of endpoint pickers: an account with a token in each namespace that has pickers.

A picker asks the API server whether an account may get `/metrics` (filters.WithAuthenticationAndAuthorization
of controller-runtime). Such a right is for a path and for no single picker, so one account does for all of a
namespace. Whoever scrapes for a PodMonitor or ServiceMonitor sends its token from the Secret beside that
object; Kubernetes writes the token there, so no program of ours ever has it.

Sources: https://kubernetes.io/docs/concepts/configuration/secret/#serviceaccount-token-secrets;
config/charts/routerlib/templates/_gke.yaml of llm-d-router v0.10.0 for what Google's collectors need: they
read the Secret themselves (google/secrets of GoogleCloudPlatform/prometheus).
"""

from typing import Any

from inferfleet.documents.kinds.inference_cluster import Serving
from inferfleet.documents.kinds.serving.monitoring import Scraper
from inferfleet.fleet import names
from inferfleet.serving.metadata import metadata

READER, TOKEN = names.METRICS_READER, "token"
_RBAC = "rbac.authorization.k8s.io"


def sends_token(serving: Serving) -> bool:
    """Return whether what scrapes the pickers sends the token of the reader."""
    monitoring = serving.monitoring
    return serving.metrics_auth and monitoring is not None and monitoring.pickers not in (None, "Annotations")


def reader(*, namespace: str, serving: Serving, stack: str) -> tuple[dict[str, Any], ...]:
    """Return the reader's account, its Secret without data, and the rights of reader and scraper.

    There are none where metrics are open, nor where nobody scrapes pickers.
    """
    monitoring = serving.monitoring
    if monitoring is None or monitoring.pickers is None or not serving.metrics_auth:
        return ()
    by_google = monitoring.pickers == "PodMonitoring"
    readers = [_account(READER, namespace)] if sends_token(serving) else []
    if monitoring.scraper and not by_google:
        readers.append(_of(monitoring.scraper))
    made = [*_right(namespace, stack, readers)]
    if sends_token(serving):
        made = [*_token(namespace, stack), *made]
    if by_google and monitoring.scraped_by:
        made += _reads_secret(namespace, stack, _of(monitoring.scraped_by))
    return tuple(made)


def _token(namespace: str, stack: str) -> list[dict[str, Any]]:
    named = metadata(READER, stack=stack, namespace=namespace)
    annotations = {"kubernetes.io/service-account.name": READER}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": named},
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": metadata(READER, stack=stack, namespace=namespace, annotations=annotations),
            "type": "kubernetes.io/service-account-token",
        },
    ]


def _right(namespace: str, stack: str, readers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the right to get metrics, and its binding to the accounts."""
    name = names.metrics_reader_cluster_scoped(namespace)
    rule = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
    return [
        {**_rbac("ClusterRole"), "metadata": metadata(name, stack=stack), "rules": [rule]},
        {
            **_rbac("ClusterRoleBinding"),
            "metadata": metadata(name, stack=stack),
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name},
            "subjects": readers,
        },
    ]


def _reads_secret(namespace: str, stack: str, collector: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the right to read the reader's Secret alone, and its binding to the collectors."""
    named = metadata(READER, stack=stack, namespace=namespace)
    rule = {
        "apiGroups": [""],
        "resources": ["secrets"],
        "resourceNames": [READER],
        "verbs": ["get", "list", "watch"],
    }
    return [
        {**_rbac("Role"), "metadata": named, "rules": [rule]},
        {
            **_rbac("RoleBinding"),
            "metadata": named,
            "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": READER},
            "subjects": [collector],
        },
    ]


def _rbac(kind: str) -> dict[str, Any]:
    return {"apiVersion": f"{_RBAC}/v1", "kind": kind}


def _of(scraper: Scraper) -> dict[str, Any]:
    return _account(scraper.service_account, scraper.namespace)


def _account(name: str, namespace: str) -> dict[str, Any]:
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}
