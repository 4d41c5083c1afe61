"""Load balancers of Google let requests end for as long as the pods have that answer them."""

from typing import Any

import pytest
from small_stack import cluster, deployment, made

ENGINE = {"image": "vllm/vllm-openai:v0.30.0", "command": ["vllm", "serve", "m"]}


@pytest.mark.parametrize("flag", ["--shutdown-timeout=90", "--shutdown-timeout=600"])
@pytest.mark.parametrize("release", ["gie-1.5", "router-0.10"])
def test_a_policy_has_the_grace_period_of_the_pods_that_it_is_for(flag: str, release: str) -> None:
    gke = {"gateway": {"className": "gke-l7-rilb", "provider": "gke"}, "profile": release}
    model = deployment("chat", engine={**ENGINE, "args": [flag]})
    lets: dict[str, int] = {}
    has: dict[str, int] = {}
    for wanted in made(cluster("east", serving=gke), model).clusters[0].objects:
        spec: Any = wanted.manifest.get("spec", {})
        if wanted.kind == "GCPBackendPolicy":
            draining = spec["default"]["connectionDraining"]
            lets[spec["targetRef"]["kind"]] = draining["drainingTimeoutSec"]
        if wanted.kind == "Deployment":
            of = "Service" if wanted.kubernetes_name.endswith("-epp") else "InferencePool"
            has[of] = spec["template"]["spec"]["terminationGracePeriodSeconds"]
    assert lets == has
    assert set(has) == {"InferencePool", "Service"}
