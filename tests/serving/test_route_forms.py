"""Routes for each path of an engine, and those in which a gateway rewrites nothing."""

from collections.abc import Callable

from inferfleet.documents.kinds.inference_cluster import Gateway
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.serving.routes import deployment_route
from inferfleet.tables.pickers import profile

Make = Callable[..., ModelDeployment]
GIE = profile("gie-1.5")
OWN = Gateway(class_name="any")
POOL = {"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": "qwen"}


def test_each_path_of_an_engine_is_a_rule_that_leaves_that_path(deployment: Make) -> None:
    document = deployment(route={"paths": ["/v1", "/generate"]})
    rules = deployment_route(deployment=document, gateway=OWN, profile=GIE, stack="prod")["spec"]["rules"]
    paths = [
        (rule["matches"][0]["path"], [one["urlRewrite"]["path"] for one in rule["filters"]]) for rule in rules
    ]
    assert paths == [
        (
            {"type": "PathPrefix", "value": f"/ml/deployments/qwen{path}"},
            [{"type": "ReplacePrefixMatch", "replacePrefixMatch": path}],
        )
        for path in ("/v1", "/generate")
    ]


def test_a_route_at_the_root_rewrites_nothing(deployment: Make) -> None:
    """With the path / and its own header it is the route that OtterScale writes by default."""
    document = deployment(route={"path": "/", "paths": ["/"], "headers": {"OtterScale-Model-Name": "qwen"}})
    spec = deployment_route(deployment=document, gateway=OWN, profile=GIE, stack="prod")["spec"]
    named = {"type": "Exact", "name": "OtterScale-Model-Name", "value": "qwen"}
    assert spec["rules"] == [
        {
            "matches": [{"path": {"type": "PathPrefix", "value": "/"}, "headers": [named]}],
            "backendRefs": [POOL],
            "timeouts": {"request": "3600s"},
        }
    ]
