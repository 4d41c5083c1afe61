"""How engines and endpoint pickers of a deployment are scraped, and who may read the metrics of pickers.

One monitor is for one role, or for the picker of one set of pods, so that each knows which metrics are whose:
they get the labels `model_deployment` and, of engines, `model_role`.

A picker asks the API server whether an account may get `/metrics` (filters.WithAuthenticationAndAuthorization
of controller-runtime). Such a right is for a path and for no single picker, so one account with a token does
for all of a namespace. Whoever scrapes for a PodMonitor or ServiceMonitor sends its token from the Secret
beside that object; Kubernetes writes the token there, so no program of ours ever has it.

Sources: pkg/apis/monitoring/v1 of prometheus-operator v0.90.1; pkg/operator/apis/monitoring/v1 of
GoogleCloudPlatform/prometheus-engine 2ffde4e;
https://kubernetes.io/docs/concepts/configuration/secret/#serviceaccount-token-secrets;
config/charts/routerlib/templates/_gke.yaml of llm-d-router v0.10.0 for what Google's collectors need: they
read the Secret themselves (google/secrets of GoogleCloudPlatform/prometheus).
"""

from collections.abc import Iterator
from typing import Any

from inferfleet.documents.kinds.inference_cluster import Monitoring, Serving
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.pods.template import ENGINE
from inferfleet.fleet import names
from inferfleet.fleet.roles import engine_of, listening_port, metrics_ports, roles_of, serving_roles
from inferfleet.serving.metadata import metadata
from inferfleet.serving.picker import METRICS, Picker
from inferfleet.serving.pod.template import port_names
from inferfleet.tables.engines import engine

_OPERATOR, _GOOGLE = "monitoring.coreos.com/v1", "monitoring.googleapis.com/v1"
GOOGLES = (_GOOGLE, "PodMonitoring")
READER, TOKEN = names.METRICS_READER, "token"
_RBAC = "rbac.authorization.k8s.io"
# Kinds that a cluster may lack: what serves does not need them.
KINDS = frozenset({(_OPERATOR, "PodMonitor"), (_OPERATOR, "ServiceMonitor"), GOOGLES})


def engine_monitors(
    *, deployment: ModelDeployment, monitoring: Monitoring | None, stack: str
) -> Iterator[dict[str, Any]]:
    """Yield what has the pods of each role scraped that serve metrics.

    Of a worker of several pods these are the ones that answer requests: vLLM's others have no API server.
    """
    if monitoring is None or monitoring.engines is None:
        return
    key = deployment.metadata.key
    for role in roles_of(deployment):
        endpoints = [
            _engine_endpoint(monitoring.engines, monitoring, port, deployment, role)
            for port in metrics_ports(deployment, role)
        ]
        selector: dict[str, Any] = {"matchLabels": names.role_selector(key, role)}
        if role in serving_roles(deployment):
            selector = {
                "matchLabels": names.deployment_selector(key, "") | {names.ROLE: role},
                # Its value is the revision of pods, and those of two revisions may be there.
                "matchExpressions": [{"key": names.SERVES, "operator": "Exists"}],
            }
        name = names.of_role(key, role)
        yield _monitor(monitoring.engines, name, deployment, monitoring, stack, selector, endpoints)


def picker_monitors(picker: Picker) -> Iterator[dict[str, Any]]:
    """Yield what has the pods of a picker scraped, which have its name for a label; so has its Service."""
    deployment, serving = picker.deployment, picker.serving
    deployment, serving = picker.deployment, picker.serving
    monitoring = serving.monitoring
    if monitoring is None or monitoring.pickers in (None, "Annotations"):
        return
    kind = monitoring.pickers
    rules = _labels(model_deployment=deployment.metadata.name)
    endpoint = _endpoint(kind, monitoring, METRICS, rules)
    if picker.metrics_are_secure:
        # Nobody else knows its certificate.
        endpoint |= {"scheme": "https"}
        endpoint |= {"tls" if kind == GOOGLES[1] else "tlsConfig": {"insecureSkipVerify": True}}
    if sends_token(serving):
        endpoint["authorization"] = _authorization(kind)
    selector = {"matchLabels": picker.selector}
    yield _monitor(kind, picker.name, deployment, monitoring, picker.stack, selector, [endpoint])


def _engine_endpoint(
    kind: str, monitoring: Monitoring, port: int, deployment: ModelDeployment, role: str
) -> dict[str, Any]:
    """Return the endpoint for a port with metrics of a role's engine.

    Google's collectors take any number. The operator knows ports that containers list, by names that
    containers of a pod may share. A port that no container lists takes the place of one that is listed.
    """
    table = engine(engine_of(deployment, role).type)
    rules = _labels(model_deployment=deployment.metadata.name, model_role=role)
    if kind == GOOGLES[1]:
        return _endpoint(kind, monitoring, port, rules, path=table.metrics_path)
    only = {"sourceLabels": ["__meta_kubernetes_pod_container_name"], "regex": ENGINE, "action": "keep"}
    if table.metrics_port:
        moved = {
            "sourceLabels": ["__address__"],
            "regex": r"(.+):\d+",
            "replacement": f"$1:{port}",
            "targetLabel": "__address__",
        }
        return _endpoint(
            kind, monitoring, port_names(deployment, role)[0], [only, moved, *rules], path=table.metrics_path
        )
    name = port_names(deployment, role)[port - listening_port(deployment, role)]
    return _endpoint(kind, monitoring, name, [only, *rules], path=table.metrics_path)


def _labels(**labels: str) -> list[dict[str, Any]]:
    """Return rules that give metrics these labels."""
    return [{"targetLabel": name, "replacement": value} for name, value in labels.items()]


def _endpoint(
    kind: str, monitoring: Monitoring, port: int | str, rules: list[dict[str, Any]], *, path: str = "/metrics"
) -> dict[str, Any]:
    """Return an endpoint of an object of this kind. Google's has rules for metrics, and none for targets."""
    field = "metricRelabeling" if kind == GOOGLES[1] else "relabelings"
    return {"port": port, "path": path, "interval": f"{monitoring.interval}s", field: rules}


def _authorization(kind: str) -> dict[str, Any]:
    """Return how the token of the reader is sent. Its Secret is in the namespace of the object."""
    secret = {"name": READER, "key": TOKEN}
    return {"type": "Bearer", "credentials": {"secret": secret} if kind == GOOGLES[1] else secret}


def _monitor(
    kind: str,
    name: str,
    deployment: ModelDeployment,
    monitoring: Monitoring,
    stack: str,
    selector: dict[str, Any],
    endpoints: list[dict[str, Any]],
) -> dict[str, Any]:
    field = "podMetricsEndpoints" if kind == "PodMonitor" else "endpoints"
    return {
        "apiVersion": _GOOGLE if kind == GOOGLES[1] else _OPERATOR,
        "kind": kind,
        "metadata": metadata(
            name,
            stack=stack,
            namespace=deployment.metadata.namespace,
            deployment=deployment.metadata.key,
            labels=monitoring.labels,
        ),
        "spec": {"selector": selector, field: endpoints},
    }


def sends_token(serving: Serving) -> bool:
    """Return whether what scrapes the pickers sends the token of the reader."""
    monitoring = serving.monitoring
    return serving.metrics_auth and monitoring is not None and monitoring.pickers not in (None, "Annotations")


def metrics_reader(*, namespace: str, serving: Serving, stack: str) -> tuple[dict[str, Any], ...]:
    """Return the reader's account, its Secret without data, and the rights of reader and scraper.

    There are none where metrics are open, nor where nobody scrapes pickers.
    """
    monitoring = serving.monitoring
    if monitoring is None or monitoring.pickers is None or not serving.metrics_auth:
        return ()
    by_google = monitoring.pickers == "PodMonitoring"
    accounts = [_account(READER, namespace)] if sends_token(serving) else []
    if monitoring.scraper and not by_google:
        accounts.append(_account(monitoring.scraper.service_account, monitoring.scraper.namespace))
    objects = _account_with_token(namespace, stack) if sends_token(serving) else []
    objects += _reads_metrics(namespace, stack, accounts)
    if by_google and (collector := monitoring.scraped_by):
        account = _account(collector.service_account, collector.namespace)
        objects += _reads_secret(namespace, stack, account)
    return tuple(objects)


def _account_with_token(namespace: str, stack: str) -> list[dict[str, Any]]:
    meta = metadata(READER, stack=stack, namespace=namespace)
    annotations = {"kubernetes.io/service-account.name": READER}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta},
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": metadata(READER, stack=stack, namespace=namespace, annotations=annotations),
            "type": "kubernetes.io/service-account-token",
        },
    ]


def _reads_metrics(namespace: str, stack: str, readers: list[dict[str, Any]]) -> list[dict[str, Any]]:
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
    meta = metadata(READER, stack=stack, namespace=namespace)
    rule = {
        "apiGroups": [""],
        "resources": ["secrets"],
        "resourceNames": [READER],
        "verbs": ["get", "list", "watch"],
    }
    return [
        {**_rbac("Role"), "metadata": meta, "rules": [rule]},
        {
            **_rbac("RoleBinding"),
            "metadata": meta,
            "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": READER},
            "subjects": [collector],
        },
    ]


def _rbac(kind: str) -> dict[str, Any]:
    return {"apiVersion": f"{_RBAC}/v1", "kind": kind}


def _account(name: str, namespace: str) -> dict[str, Any]:
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}
