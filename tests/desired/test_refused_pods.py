"""Pods that the API server would refuse: refused, whoever wrote them."""

import pytest
from said_of_both import TRIED, Change, Spec, by_document, by_plugin, engine, pod

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


@pytest.mark.parametrize("name", ["image", "sysctls", "overhead"])
def test_what_pods_are_refused_for_is_refused(name: str) -> None:
    twice = [{"name": "net.core.somaxconn", "value": "1"}] * 2
    changes: dict[str, Change] = {
        "image": engine(image="engine:1 "),
        "sysctls": pod(securityContext={"sysctls": twice}),
        "overhead": pod(overhead={"cpu": "1"}),
    }

    def said(spec: Spec) -> None:
        changes[name](spec)

    (by_team,) = by_document(said)
    (of_plugin,) = by_plugin(lambda template: said(template["spec"]))
    assert (name in by_team, name in of_plugin.what) == (True, True)
