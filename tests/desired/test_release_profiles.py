"""Which picker a deployment has: by its profile, that of its cluster, and whether prefill is apart."""

from typing import Any

import pytest
from small_stack import Document, cluster, deployment, made

from inferfleet.desired.values import Desired
from inferfleet.documents.problems import InvalidDocuments
from inferfleet.tables.pickers import profile

GIE, ROUTER, SCHEDULER = (profile(name).epp_image for name in ("gie-1.5", "router-0.10", "scheduler-0.7"))
VLLM = "docker.io/vllm/vllm-openai:v0.32.0"


def east(name: str | None = None, **serving: Any) -> Document:
    named = {"profile": name} if name else {}
    return cluster("east", serving={"gateway": {"className": "any"}, **named, **serving})


def without_image(name: str, type_: str = "vLLM") -> Document:
    return deployment(name, engine={"image": None}, declared={"type": type_, "model": "m", "servedNames": []})


def apart(name: str, **spec: Any) -> Document:
    workers = {"topology": {"tensor": 1}}
    return deployment(
        name,
        declared={"model": "m", "image": "engine:1"},
        engine={"image": None},
        prefill={"workers": workers},
        **spec,
    )


def pickers(found: Desired) -> dict[str, str]:
    """The image of each deployment's picker."""
    return {
        wanted.kubernetes_name[0]: wanted.manifest["spec"]["template"]["spec"]["containers"][0]["image"]
        for wanted in found.clusters[0].objects
        if wanted.kind == "Deployment" and wanted.kubernetes_name.endswith("-epp")
    }


def refused(*documents: Document) -> list[tuple[str, str, str]]:
    with pytest.raises(InvalidDocuments) as raised:
        made(*documents)
    return [(problem.path, problem.what, problem.next_step) for problem in raised.value.problems]


@pytest.mark.parametrize(
    ("name", "whole", "prefill"),
    [
        (None, GIE, ROUTER),
        ("gie-1.5", GIE, ROUTER),
        ("router-0.10", ROUTER, ROUTER),
        ("scheduler-0.7", GIE, SCHEDULER),
    ],
)
def test_a_profile_has_a_picker_for_each_kind_of_deployment(
    name: str | None, whole: str, prefill: str
) -> None:
    found = made(east(name), deployment("a"), apart("b"))
    assert pickers(found) == {"a": whole, "b": prefill}
    assert [warning for warning in found.warnings if "image" in str(warning)] == []
    assert pickers(made(east(), deployment("a", profile=name), apart("b", profile=name))) == {
        "a": whole,
        "b": prefill,
    }


def test_an_engine_without_an_image_has_that_of_the_profile_or_of_its_cluster() -> None:
    def image(where: Document) -> str:
        for wanted in made(where, without_image("a")).clusters[0].objects:
            if wanted.kind == "Deployment" and not wanted.kubernetes_name.endswith("-epp"):
                return str(wanted.manifest["spec"]["template"]["spec"]["containers"][0]["image"])
        raise AssertionError("no engine")

    assert image(east()) == VLLM
    assert image(east(images={"engine": {"vLLM": "mirror/vllm:1"}})) == "mirror/vllm:1"


def test_flags_go_to_the_picker_as_documents_write_them() -> None:
    """One that it lacks ends it, with its own words; a flag of a cluster goes to pickers of every profile."""
    where = east(eppFlags={"model-server-metrics-path": "/m"})
    own = deployment("a", profile="router-0.10", endpointPicker={"flags": {"nosuch": 1}})
    [args] = [
        wanted.manifest["spec"]["template"]["spec"]["containers"][0]["args"]
        for wanted in made(where, own).clusters[0].objects
        if wanted.kind == "Deployment" and wanted.kubernetes_name.endswith("-epp")
    ]
    assert args[-4:] == [
        "--model-server-metrics-path=/m",
        "--nosuch=1",
        "--refresh-metrics-interval=150ms",
        "--zap-encoder=json",
    ]


def test_a_port_that_is_none_is_refused_before_anything_is_made_of_it() -> None:
    model = deployment("a", endpointPicker={"flags": {"metrics-port": "http"}})
    assert refused(east(), model) == [
        (
            "spec.endpointPicker.flags.metrics-port",
            "metrics-port is 'http', which is no port",
            "Give it a port from 1 to 65535",
        )
    ]


def test_an_image_of_the_cluster_is_not_taken_for_another_version_of_the_picker() -> None:
    where = east(images={"epp": "mirror/picker:1.5"})
    assert refused(where, deployment("a", profile="router-0.10")) == [
        (
            "spec.profile",
            "the endpoint picker of router-0.10 is another image than mirror/picker:1.5, which cluster "
            "'east' names in serving.images",
            f"Write endpointPicker.image, as {ROUTER} is called there",
        )
    ]
    named = deployment("a", profile="router-0.10", endpointPicker={"image": "mirror/picker:0.10"})
    assert pickers(made(where, named)) == {"a": "mirror/picker:0.10"}


def test_an_engine_of_another_type_needs_an_image() -> None:
    [(path, _, _)] = refused(east(), without_image("a", "TensorRT-LLM"))
    assert path == "spec.engine.image"
