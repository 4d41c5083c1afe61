"""A release of llm-d is one line of a cluster, and a deployment may have another one first."""

from typing import Any

import pytest
from small_stack import Document, cluster, deployment, made

from inferfleet.api.problems import InvalidDocuments
from inferfleet.desired.values import Desired
from inferfleet.profiles.table import profile

OLD, NEW = profile("llm-d-0.8").epp_image, profile("llm-d-0.9").epp_image
OLD_ENGINE, NEW_ENGINE = "docker.io/vllm/vllm-openai:v0.23.0", "docker.io/vllm/vllm-openai:v0.26.0"


def east(name: str, **serving: Any) -> Document:
    return cluster("east", serving={"gateway": {"className": "any"}, "profile": name, **serving})


def released(name: str, **spec: Any) -> Document:
    return deployment(name, engine={"image": None}, **spec)


def images(found: Desired) -> dict[str, set[str]]:
    """The images of each deployment's pods, pickers and engines alike."""
    seen: dict[str, set[str]] = {"a": set(), "b": set()}
    for wanted in found.clusters[0].objects:
        if wanted.kind == "Deployment":
            [container] = wanted.manifest["spec"]["template"]["spec"]["containers"]
            seen[wanted.kubernetes_name[0]].add(container["image"])
    return seen


def refused(*documents: Document) -> list[tuple[str, str, str]]:
    with pytest.raises(InvalidDocuments) as raised:
        made(*documents)
    return [(problem.path, problem.what, problem.next_step) for problem in raised.value.problems]


@pytest.mark.parametrize(
    ("name", "expected"), [("llm-d-0.8", {OLD, OLD_ENGINE}), ("llm-d-0.9", {NEW, NEW_ENGINE})]
)
def test_one_line_of_a_cluster_chooses_pickers_and_engines(name: str, expected: set[str]) -> None:
    assert images(made(east(name), released("a"), released("b"))) == {"a": expected, "b": expected}


def test_a_bump_may_come_to_one_deployment_first() -> None:
    found = made(east("llm-d-0.8"), released("a"), released("b", profile="llm-d-0.9"))
    assert images(found) == {"a": {OLD, OLD_ENGINE}, "b": {NEW, NEW_ENGINE}}


def test_images_of_a_document_stay_where_the_release_has_others() -> None:
    mirror = east("llm-d-0.9", images={"engine": {"vLLM": "mirror/vllm:1"}})
    found = made(mirror, released("a", profile="llm-d-0.8"), deployment("b", engine={"image": "mine:1"}))
    assert images(found) == {"a": {OLD, "mirror/vllm:1"}, "b": {NEW, "mine:1"}}


def test_a_deployment_alone_may_have_a_release() -> None:
    found = made(
        east("gie-1.5"), released("a", profile="llm-d-0.9"), deployment("b", engine={"image": "mine:1"})
    )
    gie = "registry.k8s.io/gateway-api-inference-extension/epp:v1.5.0"
    assert images(found) == {"a": {NEW, NEW_ENGINE}, "b": {gie, "mine:1"}}


def test_a_flag_that_the_new_picker_lacks_is_refused_in_the_document_that_has_it() -> None:
    picker = {"flags": {"model-server-metrics-path": "/m"}}
    assert made(east("llm-d-0.8"), released("a", endpointPicker=picker))
    [(path, what, _)] = refused(east("llm-d-0.8"), released("a", profile="llm-d-0.9", endpointPicker=picker))
    assert path == "spec.endpointPicker.flags.model-server-metrics-path"
    assert what == "the endpoint picker of llm-d-0.9 has no flag model-server-metrics-path"


def test_a_flag_of_the_cluster_that_one_deployments_picker_lacks_is_refused_there() -> None:
    where = east("llm-d-0.8", eppFlags={"model-server-metrics-path": "/m"})
    [(path, what, _)] = refused(where, released("a", profile="llm-d-0.9"))
    assert path == "spec.serving.eppFlags.model-server-metrics-path"
    assert what == "the endpoint picker of llm-d-0.9 has no flag model-server-metrics-path"


def test_an_image_of_the_cluster_is_not_taken_for_another_version_of_the_picker() -> None:
    where = east("llm-d-0.8", images={"epp": "mirror/picker:0.9"})
    assert refused(where, released("a", profile="llm-d-0.9")) == [
        (
            "spec.profile",
            "the endpoint picker of llm-d-0.9 is another image than mirror/picker:0.9, which cluster 'east' "
            "names in serving.images",
            f"Write endpointPicker.image, as {NEW} is called there",
        )
    ]
    named = released("a", profile="llm-d-0.9", endpointPicker={"image": "mirror/picker:0.10"})
    assert images(made(where, named))["a"] == {"mirror/picker:0.10", NEW_ENGINE}


def test_without_a_release_an_engine_needs_an_image_as_before() -> None:
    [(path, _, _)] = refused(east("router-0.10"), released("a"))
    assert path == "spec.workers.template.spec.containers[0].image"
