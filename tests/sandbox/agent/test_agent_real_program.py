"""A real program runs as its manifest says, but for paths of this machine."""

from pathlib import Path

import pytest

from inferfleet.tables.pickers import profile
from sandbox.agent.container import last_error
from sandbox.agent.environment import expanded, field_of
from sandbox.agent.programs.images import (
    PICKERS,
    SIDECARS,
    SUITES,
    is_routing_sidecar,
    program_of,
    refusal,
)
from sandbox.agent.programs.volumes import redirected
from sandbox.cluster.kwok_stages import SUITE_SERVERS


@pytest.mark.parametrize(
    ("word", "here"),
    [
        ("--config-file=/config/config.yaml", "--config-file=/pod/volumes/config/config.yaml"),
        ("/config/config.yaml", "/pod/volumes/config/config.yaml"),
        ("--cert-path=/config/certs/tls", "--cert-path=/pod/volumes/certs/tls"),
        ("--config-file=/configured/x", "--config-file=/configured/x"),
        ("--v=2", "--v=2"),
    ],
)
def test_paths_in_mounted_folders_are_those_of_this_machine(word: str, here: str) -> None:
    places = {"/config": Path("/pod/volumes/config"), "/config/certs": Path("/pod/volumes/certs")}
    assert redirected(word, places) == here


MIRROR = "mirror.example.com:5000/team"
NONE = f"sha256:{'0' * 64}"


@pytest.mark.parametrize(
    ("image", "program"),
    [
        (profile("gie-1.5").epp_image, "epp"),
        (f"{MIRROR}/epp:v1.5.0@{NONE}", "epp"),
        ("ghcr.io/llm-d/llm-d-inference-scheduler:v0.7.1", "llm-d-epp"),
        (f"{MIRROR}/llm-d-inference-scheduler:v0.7.1@{NONE}", "llm-d-epp"),
    ],
)
def test_the_image_of_a_picker_or_a_mirror_of_it_tells_its_program(image: str, program: str) -> None:
    assert (program_of(image, PICKERS), refusal(image, PICKERS)) == (program, "")


@pytest.mark.parametrize("image", SUITE_SERVERS)
def test_the_server_of_conformance_suites_is_known_by_its_image_and_release(image: str) -> None:
    other = f"{image.partition(':')[0]}:v1"
    assert (program_of(image, SUITES), program_of(other, SUITES)) == ("echo-basic", None)


@pytest.mark.parametrize(
    ("name", "image", "policy", "is_one"),
    [
        ("routing-proxy", "ghcr.io/llm-d/llm-d-routing-sidecar:v0.7.1", "Always", True),
        ("routing-proxy", "example.com/own:v1", "Always", True),
        ("proxy", f"{MIRROR}/llm-d-routing-sidecar:v9", "Always", True),
        ("proxy", "example.com/own:v1", "Always", False),
        ("routing-proxy", "ghcr.io/llm-d/llm-d-routing-sidecar:v0.7.1", None, False),
    ],
)
def test_a_routing_sidecar_is_known_by_its_name_or_its_image(
    name: str, image: str, policy: str | None, is_one: bool
) -> None:
    container = {"name": name, "image": image, **({"restartPolicy": policy} if policy else {})}
    assert is_routing_sidecar(container) == is_one


def test_a_sidecar_of_another_version_is_refused() -> None:
    image = "ghcr.io/llm-d/llm-d-routing-sidecar:v0.6.0"
    assert program_of(image, SIDECARS) is None
    assert refusal(image, SIDECARS) == (
        f'Container image "{image}" is not in the sandbox, and nothing is run in its place. It has programs '
        "for ghcr.io/llm-d/llm-d-routing-sidecar:v0.7.1: use one of these versions, or a mirror of that "
        "image."
    )


@pytest.mark.parametrize(
    "image",
    [
        profile("router-0.10").epp_image,
        "example.com/epp:v9",
        "example.com/own-epp:v1.5.0",
        "epp",
        "epp:v1.5.0x",
    ],
)
def test_an_image_the_sandbox_does_not_have_is_refused_with_the_one_it_has(image: str) -> None:
    assert f'"{image}" is not in the sandbox' in refusal(image, PICKERS)
    assert profile("gie-1.5").epp_image in refusal(image, PICKERS)


def test_references_to_variables_are_put_in_as_a_kubelet_does() -> None:
    words = ["--a=$(NAMESPACE)/$(POD_NAME)", "$(UNKNOWN)", "$$(NAMESPACE)", "$HOME"]
    assert expanded(words, {"NAMESPACE": "ml", "POD_NAME": "p"}) == [
        "--a=ml/p",
        "$(UNKNOWN)",
        "$(NAMESPACE)",
        "$HOME",
    ]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.name", "p"),
        ("metadata.labels['app/x']", "y"),
        ("metadata.annotations['none']", ""),
        ("spec.nodeName", "n"),
        ("status.podIP", "127.4.0.1"),
        ("status.podIPs", "127.4.0.1"),
        ("status.hostIP", ""),
    ],
)
def test_fields_of_the_pod_are_those_of_the_downward_api(path: str, value: str) -> None:
    pod = {
        "metadata": {"name": "p", "labels": {"app/x": "y"}},
        "spec": {"nodeName": "n"},
        "status": {"podIP": "127.4.0.1", "podIPs": [{"ip": "127.4.0.1"}]},
    }
    assert field_of(pod, path) == value


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("", ""),
        ("one\ntwo\n", "two"),
        ("usage: x\n--v int\ninvalid argument 'a' for --v\n", "invalid argument 'a' for --v"),
        ("Error: no such thing\nusage of it\n", "Error: no such thing"),
        (
            '{"level":"error","msg":"Failed to parse","error":"plugin x"}\n{"level":"info","msg":"no error"}',
            "Failed to parse: plugin x",
        ),
        ('{"level":"info","msg":"started"}', "started"),
        ("[1, 2]", "[1, 2]"),
    ],
)
def test_of_many_last_words_the_line_is_chosen_that_says_why(words: str, line: str) -> None:
    assert last_error(words) == line
