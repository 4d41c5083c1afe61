"""What has engines and endpoint pickers scraped: whole objects."""

from collections.abc import Callable
from typing import Any

import pytest
from one_picker import picker as one_picker

from inferfleet.documents.kinds.inference_cluster import Serving
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.serving.monitors import engine_monitors, picker_monitors
from inferfleet.serving.picker import Picker, PickerObjects, objects
from inferfleet.tables.pickers import profile

Make = Callable[..., ModelDeployment]
Serve = Callable[..., Serving]

GIE, ROUTER = profile("gie-1.5"), profile("router-0.10")
OPERATOR, GOOGLE = "monitoring.coreos.com/v1", "monitoring.googleapis.com/v1"
OURS = {
    "app.kubernetes.io/managed-by": "inferfleet",
    "inferfleet.dev/stack": "prod",
    "inferfleet.dev/deployment": "qwen",
}
DECODE = [
    {"targetLabel": "model_deployment", "replacement": "qwen"},
    {"targetLabel": "model_role", "replacement": "decode"},
]
# A port's name may be that of another container too.
OF_ENGINE = {"sourceLabels": ["__meta_kubernetes_pod_container_name"], "regex": "engine", "action": "keep"}
OF_PICKER = [{"targetLabel": "model_deployment", "replacement": "qwen"}]


def _object(kind: str, name: str, spec: dict[str, Any], **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": GOOGLE if kind == "PodMonitoring" else OPERATOR,
        "kind": kind,
        "metadata": {"name": name, "namespace": "ml", "labels": OURS | labels},
        "spec": spec,
    }


def _serving_pods(role: str = "decode") -> dict[str, Any]:
    return {
        "matchLabels": {"inferfleet.dev/deployment": "qwen", "inferfleet.dev/role": role},
        "matchExpressions": [{"key": "inferfleet.dev/serves", "operator": "Exists"}],
    }


def _of_engines(serving: Serving, document: ModelDeployment) -> list[dict[str, Any]]:
    return list(engine_monitors(deployment=document, monitoring=serving.monitoring, stack="prod"))


def _picker(document: ModelDeployment, serving: Serving) -> PickerObjects:
    return objects(
        Picker(deployment=document, serving=serving, profile=GIE, stack="prod", drain=100, replicas=1)
    )


def _of_picker(serving: Serving, document: ModelDeployment, **of: Any) -> list[dict[str, Any]]:
    return list(picker_monitors(one_picker(document, serving, **of)))


def test_a_cluster_that_asks_for_nothing_has_nothing(deployment: Make, serving: Serve) -> None:
    plain = serving()
    assert (_of_engines(plain, deployment()), _of_picker(plain, deployment())) == ([], [])
    of_pickers, of_engines = (serving(monitoring={who: "PodMonitor"}) for who in ("pickers", "engines"))
    assert (_of_engines(of_pickers, deployment()), _of_picker(of_engines, deployment())) == ([], [])


def test_engines_have_a_pod_monitor_with_the_labels_that_the_operator_wants(
    deployment: Make, serving: Serve
) -> None:
    asked = serving(monitoring={"engines": "PodMonitor", "interval": 15, "labels": {"release": "kube"}})
    endpoint = {"port": "http", "path": "/metrics", "interval": "15s", "relabelings": [OF_ENGINE, *DECODE]}
    spec = {"selector": _serving_pods(), "podMetricsEndpoints": [endpoint]}
    assert _of_engines(asked, deployment()) == [_object("PodMonitor", "qwen-decode", spec, release="kube")]


def test_google_is_asked_by_a_pod_monitoring(deployment: Make, serving: Serve) -> None:
    asked = serving(monitoring={"engines": "PodMonitoring"})
    endpoint = {"port": 8000, "path": "/metrics", "interval": "30s", "metricRelabeling": DECODE}
    spec = {"selector": _serving_pods(), "endpoints": [endpoint]}
    assert _of_engines(asked, deployment()) == [_object("PodMonitoring", "qwen-decode", spec)]


@pytest.mark.parametrize(
    ("engine", "kind", "endpoint"),
    [
        ("SGLang", "PodMonitor", {"port": "http", "path": "/metrics", "relabelings": [OF_ENGINE, *DECODE]}),
        (
            "TensorRT-LLM",
            "PodMonitor",
            {"port": "http", "path": "/prometheus/metrics", "relabelings": [OF_ENGINE, *DECODE]},
        ),
        (
            "Triton",
            "PodMonitor",
            {
                "port": "http",
                "path": "/metrics",
                "relabelings": [
                    OF_ENGINE,
                    {
                        "sourceLabels": ["__address__"],
                        "regex": r"(.+):\d+",
                        "replacement": "$1:8002",
                        "targetLabel": "__address__",
                    },
                    *DECODE,
                ],
            },
        ),
        ("Triton", "PodMonitoring", {"port": 8002, "path": "/metrics", "metricRelabeling": DECODE}),
    ],
)
def test_each_engine_is_scraped_where_it_has_metrics(
    deployment: Make, serving: Serve, engine: str, kind: str, endpoint: dict[str, Any]
) -> None:
    [made] = _of_engines(serving(monitoring={"engines": kind}), deployment(engine={"type": engine}))
    field = "podMetricsEndpoints" if kind == "PodMonitor" else "endpoints"
    assert made["spec"][field] == [{"interval": "30s"} | endpoint]


def test_each_copy_in_a_pod_is_scraped_on_its_port(deployment: Make, serving: Serve) -> None:
    topology = {"tensor": 1, "data": 2, "dataLocal": 2}
    document = deployment(workers={"topology": topology, "balance": "Port"})
    [made] = _of_engines(serving(monitoring={"engines": "PodMonitor"}), document)
    assert [one["port"] for one in made["spec"]["podMetricsEndpoints"]] == ["http", "http-1"]
    [made] = _of_engines(serving(monitoring={"engines": "PodMonitoring"}), document)
    assert [one["port"] for one in made["spec"]["endpoints"]] == [8000, 8001]


def test_a_port_is_scraped_by_the_name_that_its_template_gives_it(deployment: Make, serving: Serve) -> None:
    document = deployment({"engine": {"ports": [{"containerPort": 8000, "name": "serve"}]}})
    [made] = _of_engines(serving(monitoring={"engines": "PodMonitor"}), document)
    assert [one["port"] for one in made["spec"]["podMetricsEndpoints"]] == ["serve"]


def test_prefill_and_decode_are_scraped_each_by_itself(deployment: Make, serving: Serve) -> None:
    worker = {
        "topology": {"tensor": 1},
        "template": {"spec": {"containers": [{"name": "engine", "image": "v"}]}},
    }
    document = deployment(prefill={"workers": worker})
    made = _of_engines(serving(monitoring={"engines": "PodMonitor"}), document)
    assert [(one["metadata"]["name"], one["spec"]["selector"]) for one in made] == [
        ("qwen-decode", _serving_pods()),
        ("qwen-prefill", _serving_pods("prefill")),
    ]
    # Behind the routing proxy the engine listens elsewhere, on a port of the same name.
    assert [one["spec"]["podMetricsEndpoints"][0]["port"] for one in made] == ["http", "http"]
    of_google = _of_engines(serving(monitoring={"engines": "PodMonitoring"}), document)
    assert [one["spec"]["endpoints"][0]["port"] for one in of_google] == [8200, 8000]


TOKEN = {"name": "inferfleet-metrics-reader", "key": "token"}
PICKER = {"matchLabels": {"app.kubernetes.io/name": "qwen-epp"}}


@pytest.mark.parametrize(
    ("kind", "field", "own"),
    [
        (
            "PodMonitor",
            "podMetricsEndpoints",
            {"relabelings": OF_PICKER, "authorization": {"type": "Bearer", "credentials": TOKEN}},
        ),
        (
            "ServiceMonitor",
            "endpoints",
            {"relabelings": OF_PICKER, "authorization": {"type": "Bearer", "credentials": TOKEN}},
        ),
        (
            "PodMonitoring",
            "endpoints",
            {
                "metricRelabeling": OF_PICKER,
                "authorization": {"type": "Bearer", "credentials": {"secret": TOKEN}},
            },
        ),
    ],
)
def test_pickers_are_scraped_with_the_token_of_the_reader(
    deployment: Make, serving: Serve, kind: str, field: str, own: dict[str, Any]
) -> None:
    endpoint = {"port": "http-metrics", "path": "/metrics", "interval": "30s"}
    spec = {"selector": PICKER, field: [endpoint | own]}
    made = _of_picker(serving(monitoring={"pickers": kind}), deployment())
    assert made == [_object(kind, "qwen-epp", spec)]
    opened = _of_picker(serving(monitoring={"pickers": kind}, metricsAuth=False), deployment())
    del own["authorization"]
    assert opened == [_object(kind, "qwen-epp", {"selector": PICKER, field: [endpoint | own]})]


@pytest.mark.parametrize(("kind", "tls"), [("PodMonitor", "tlsConfig"), ("PodMonitoring", "tls")])
def test_metrics_over_tls_are_asked_for_over_tls(
    deployment: Make, serving: Serve, kind: str, tls: str
) -> None:
    asked = serving(
        profile="router-0.10",
        monitoring={"pickers": kind},
        metricsAuth=False,
        eppFlags={"metrics-cert-dir": "/certificates"},
    )
    [made] = _of_picker(asked, deployment(), profile=ROUTER.name)
    [endpoint] = next(value for key, value in made["spec"].items() if key != "selector")
    assert (endpoint["scheme"], endpoint[tls]) == ("https", {"insecureSkipVerify": True})


def test_a_service_monitor_finds_the_service_of_one_picker_by_its_label(
    deployment: Make, serving: Serve
) -> None:
    def service(**fields: Any) -> dict[str, Any]:
        return _picker(deployment(), serving(**fields)).service["metadata"]

    labels = {"app.kubernetes.io/name": "qwen-epp"}
    assert service()["labels"] == OURS
    assert service(monitoring={"pickers": "ServiceMonitor"})["labels"] == OURS | labels
    assert service(monitoring={"pickers": "PodMonitor"})["labels"] == OURS


def test_annotations_stand_at_the_pods_of_pickers(deployment: Make, serving: Serve) -> None:
    def pods(**fields: Any) -> dict[str, Any]:
        return _picker(deployment(), serving(**fields)).deployment["spec"]["template"]["metadata"]

    plain = pods()
    annotated = pods(
        monitoring={"pickers": "Annotations"}, metricsAuth=False, eppFlags={"metrics-port": 9191}
    )
    assert annotated == plain | {
        "annotations": {
            "prometheus.io/scrape": "true",
            "prometheus.io/port": "9191",
            "prometheus.io/path": "/metrics",
        }
    }
    asked = serving(monitoring={"pickers": "Annotations"}, metricsAuth=False)
    assert _of_picker(asked, deployment()) == []
