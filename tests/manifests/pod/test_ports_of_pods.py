"""Ports that an engine takes beside its first: nothing else listens there, asks or scrapes them."""

from typing import Any

import pytest

from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.fleet.shapes import Shape
from inferfleet.fleet.spot import Spot
from inferfleet.manifests.pod.clashes import document_contradictions, template_check
from inferfleet.manifests.pod.hardware import Hardware
from inferfleet.manifests.pod.stand import Stand

TWO_COPIES = {"tensor": 1, "data": 4, "dataLocal": 2}


def _stand(
    *, engine: Any = None, side: Any = None, annotations: Any = None, topology: Any = None, pods: int = 2
) -> Stand:
    containers = [{"name": "engine", "image": "x", **(engine or {})}]
    containers += [{"name": "side", "image": "side:1", **side}] if side else []
    template = {"metadata": {"annotations": annotations or {}}, "spec": {"containers": containers}}
    document = ModelDeployment.model_validate(
        {
            "metadata": {"name": "qwen", "namespace": "ml"},
            "spec": {
                "replicas": 1,
                "workers": {"topology": topology or TWO_COPIES, "template": template},
            },
        }
    )
    spot = Spot("ml/qwen", "east", (("decode", "h100"),))
    needs = Hardware("nvidia.com/gpu", 2, 2, {"inferfleet.dev/pool": "h100"})
    return Stand(document, spot, "decode", "Entry", Shape(pods, 2), needs)


@pytest.mark.parametrize(
    ("stand", "path", "what"),
    [
        (
            _stand(side={"ports": [{"containerPort": 8001}]}),
            "spec.containers[1].ports[0]",
            "container 'side' listens on 8001, but a copy of the model serves there, each on a port from "
            "spec.engine.port on, and containers of a pod share one address",
        ),
        (
            _stand(side={"ports": [{"containerPort": 9256}]}),
            "spec.containers[1].ports[0]",
            "container 'side' listens on 9256, but the engine tells the health of its copies there, and "
            "containers of a pod share one address",
        ),
        (
            _stand(side={"ports": [{"containerPort": 29550}]}),
            "spec.containers[1].ports[0]",
            "container 'side' listens on 29550, but the pods of a worker meet there, and containers of a pod "
            "share one address",
        ),
        (
            _stand(engine={"readinessProbe": {"tcpSocket": {"port": 29550}}}),
            "spec.containers[0].readinessProbe.tcpSocket.port",
            "readinessProbe of container 'engine' asks port 29550, but the pods of a worker meet there, and "
            "an engine may end when others connect",
        ),
        (
            _stand(annotations={"prometheus.io/port": "29550"}),
            'metadata.annotations["prometheus.io/port"]',
            "Prometheus would scrape port 29550, but the pods of a worker meet there, and an engine may end "
            "when others connect",
        ),
    ],
)
def test_a_port_that_the_engine_takes_is_not_for_others(stand: Stand, path: str, what: str) -> None:
    found = list(document_contradictions(stand))
    assert [(problem.path, problem.what) for problem in found] == [(f"spec.workers.template.{path}", what)]


@pytest.mark.parametrize(
    "stand",
    [
        _stand(side={"ports": [{"containerPort": 8002}]}),
        _stand(side={"ports": [{"containerPort": 8001, "protocol": "UDP"}]}),
        _stand(side={"ports": [{"containerPort": 29550}]}, topology={"tensor": 2}, pods=1),
        _stand(annotations={"prometheus.io/port": "8000"}),
    ],
)
def test_other_ports_are_free(stand: Stand) -> None:
    assert list(document_contradictions(stand)) == []


def test_what_a_plugin_lets_prometheus_scrape_is_checked_too() -> None:
    template = {
        "metadata": {"annotations": {"prometheus.io/port": "29550"}},
        "spec": {"containers": [{"name": "engine", "image": "x"}]},
    }
    found = [(mistake.at, mistake.what) for mistake in template_check(_stand())(template)]
    assert found == [
        (
            ('metadata.annotations["prometheus.io/port"]',),
            "Prometheus would scrape port 29550, but the pods of a worker meet there, and an engine may end "
            "when others connect",
        )
    ]
