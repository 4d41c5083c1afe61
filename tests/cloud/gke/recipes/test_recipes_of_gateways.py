"""Gateways of Google's classes: whether they take InferencePools."""

import pytest
from recipe_text import pool, recipe, stack

from inferfleet.cloud.gke.described import described_clusters
from inferfleet.cloud.gke.recipes.check import recipe_problems
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.settings import Settings

LLM_D = "(llm-d, GKE gateway, 2026-11-23: https://llm-d.ai/docs/dev/resources/gateway/gke)"
NEXT = "Write className: gke-l7-regional-external-managed or gke-l7-rilb"


def told(documents: Documents, *known: str) -> list[tuple[str, str, str, str]]:
    return [
        (problem.severity, problem.path, problem.what, problem.next_step)
        for problem in recipe_problems(documents, described_clusters(documents), (), known)
    ]


def existing(gateway_class: str, provider: str | None, state: str = "active") -> Documents:
    asked = {"className": gateway_class, **({"provider": provider} if provider else {})}
    spec = {
        "state": state,
        "cluster": {"source": "Existing", "existing": {"kubeconfig": {"path": "east.yaml"}}},
        "nodePools": [{"name": "l4", "className": "l4", "nodeCount": 1}],
        "serving": {"gateway": asked},
    }
    cluster = InferenceCluster.model_validate({"metadata": {"name": "east"}, "spec": spec})
    return Documents(Settings(stack="test"), clusters={"east": cluster})


def test_the_global_class_is_refused_on_every_cluster() -> None:
    assert told(existing("gke-l7-global-external-managed", "gke")) == [
        (
            "error",
            "spec.serving.gateway.className",
            "cluster east has a gateway of class gke-l7-global-external-managed, to which "
            "Google's controller binds no InferencePools: routes answer nothing, NotSupportedByParent; the "
            f"guide to them has two others {LLM_D}",
            NEXT,
        )
    ]


def test_a_class_of_googles_of_which_nothing_is_known_is_warned_about() -> None:
    assert told(existing("gke-l7-gxlb", "gke")) == [
        (
            "warning",
            "spec.serving.gateway.className",
            "cluster east has a gateway of class gke-l7-gxlb, of which no source says that it takes "
            f"InferencePools; the guide to them has two others {LLM_D}",
            NEXT,
        )
    ]


@pytest.mark.parametrize(("provider", "shown"), [(None, "none"), ("istio", "istio"), ("envoy", "envoy")])
def test_a_class_of_googles_with_another_provider_is_refused_and_of_a_known_cluster_warned_about(
    provider: str | None, shown: str
) -> None:
    what = (
        f"cluster east has a gateway of class gke-l7-rilb with provider {shown}: its routes have timeouts, "
        "which Google's controller refuses with UnsupportedValue (kserve/kserve#5311, 2026-03-27: "
        "https://github.com/kserve/kserve/issues/5311), and it gets no policies for health checks and "
        "timeouts"
    )
    told_of = ("spec.serving.gateway.provider", what, "Write provider: gke")
    assert told(existing("gke-l7-rilb", provider)) == [("error", *told_of)]
    assert told(existing("gke-l7-rilb", provider), "east") == [("warning", *told_of)]


@pytest.mark.parametrize(
    "documents",
    [
        existing("gke-l7-rilb", None, "abandoned"),
        existing("gke-l7-rilb", "gke"),
        existing("gke-l7-regional-external-managed", "gke"),
        existing("istio", "istio"),
        stack({"p": pool(recipe("g2-standard-4"))}),
    ],
)
def test_classes_that_take_pools_and_those_of_others_are_fine(documents: Documents) -> None:
    assert told(documents) == []
