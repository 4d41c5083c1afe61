"""Pods that the API server would refuse: refused, whoever wrote them."""

from said_of_both import TRIED, by_plugin

from inferfleet.api.kinds.base import API_VERSION
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.loading.validation import validated


def test_a_template_has_no_status() -> None:
    template = {"spec": {"containers": [{"name": "engine", "image": "engine:1"}]}, "status": {}}
    workers = {"topology": {"tensor": 1}, "template": template}
    _, problems = validated(
        ModelDeployment,
        {
            "apiVersion": API_VERSION,
            "kind": "ModelDeployment",
            "metadata": {"name": "a", "namespace": "ml"},
            "spec": {"replicas": 1, "workers": workers},
        },
    )
    assert [(problem.path, problem.what) for problem in problems] == [
        ("spec.workers.template.status", "unknown field 'status'")
    ]
    (problem,) = by_plugin(lambda template: template.update(status={}))
    assert (problem.path, problem.what) == (
        "plugins[0]",
        f"{TRIED}returned a template that Kubernetes refuses: status: Kubernetes 1.36 has no field 'status' "
        "here (deployment ml/a, role decode on east/l4)",
    )
