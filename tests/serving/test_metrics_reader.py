"""Who may read the metrics of endpoint pickers: whole objects."""

from collections.abc import Callable
from typing import Any

import pytest

from inferfleet.documents.kinds.inference_cluster import Serving
from inferfleet.serving.monitors import metrics_reader

Serve = Callable[..., Serving]

OURS = {"app.kubernetes.io/managed-by": "inferfleet", "inferfleet.dev/stack": "prod"}
NAME, WIDE = "inferfleet-metrics-reader", "inferfleet:ml:metrics-reader"
RBAC = "rbac.authorization.k8s.io"
IN_SPACE = {"name": NAME, "namespace": "ml", "labels": OURS}
ACCOUNT = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": IN_SPACE}
TOKEN = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": IN_SPACE | {"annotations": {"kubernetes.io/service-account.name": NAME}},
    "type": "kubernetes.io/service-account-token",
}
MAY_READ = {
    "apiVersion": f"{RBAC}/v1",
    "kind": "ClusterRole",
    "metadata": {"name": WIDE, "labels": OURS},
    "rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}],
}
READER = {"kind": "ServiceAccount", "name": NAME, "namespace": "ml"}
PROMETHEUS = {"kind": "ServiceAccount", "name": "prometheus-k8s", "namespace": "monitoring"}
NAMED = {"scraper": {"namespace": "monitoring", "serviceAccount": "prometheus-k8s"}}


def _bound(*subjects: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": WIDE, "labels": OURS},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": WIDE},
        "subjects": list(subjects),
    }


def _reads_secret(namespace: str, name: str) -> list[dict[str, Any]]:
    rule = {
        "apiGroups": [""],
        "resources": ["secrets"],
        "resourceNames": [NAME],
        "verbs": ["get", "list", "watch"],
    }
    return [
        {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": IN_SPACE, "rules": [rule]},
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": IN_SPACE,
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": NAME},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
        },
    ]


def _made(serving: Serving) -> list[dict[str, Any]]:
    return list(metrics_reader(namespace="ml", serving=serving, stack="prod"))


@pytest.mark.parametrize("kind", ["PodMonitor", "ServiceMonitor"])
def test_the_reader_has_a_token_that_kubernetes_writes(serving: Serve, kind: str) -> None:
    made = _made(serving(monitoring={"pickers": kind}))
    assert made == [ACCOUNT, TOKEN, MAY_READ, _bound(READER)]


def test_a_named_scraper_may_read_with_its_own_token_too(serving: Serve) -> None:
    made = _made(serving(monitoring={"pickers": "PodMonitor", **NAMED}))
    assert made == [ACCOUNT, TOKEN, MAY_READ, _bound(READER, PROMETHEUS)]


def test_who_goes_by_annotations_has_the_right_and_no_token_of_ours(serving: Serve) -> None:
    made = _made(serving(monitoring={"pickers": "Annotations", **NAMED}))
    assert made == [MAY_READ, _bound(PROMETHEUS)]


def test_googles_collectors_read_the_secret_and_nothing_else(serving: Serve) -> None:
    usual = _made(serving(monitoring={"pickers": "PodMonitoring"}))
    assert usual == [ACCOUNT, TOKEN, MAY_READ, _bound(READER), *_reads_secret("gmp-system", "collector")]
    autopilot = {"namespace": "gke-gmp-system", "serviceAccount": "collector"}
    made = _made(serving(monitoring={"pickers": "PodMonitoring", "scraper": autopilot}))
    assert made == [ACCOUNT, TOKEN, MAY_READ, _bound(READER), *_reads_secret("gke-gmp-system", "collector")]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"monitoring": {"engines": "PodMonitor"}},
        {"monitoring": {"pickers": "PodMonitor"}, "metricsAuth": False},
        {"monitoring": {"pickers": "Annotations"}, "metricsAuth": False},
    ],
)
def test_nobody_needs_a_right_where_metrics_are_open_or_nobody_asks(
    serving: Serve, fields: dict[str, Any]
) -> None:
    assert _made(serving(**fields)) == []
