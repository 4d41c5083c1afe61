"""model-cache with a model from an OCI registry, which kit unpacks: whole pods, and what is refused."""

import copy
from dataclasses import replace
from typing import Any

import pytest
from example_plugins import DIGEST
from pydantic import ValidationError

from inferfleet.plugins.api import Edited, Request
from inferfleet.plugins.builtin.model_cache import Config, edit

MODEL = f"registry.example.com:5000/models/qwen@sha256:{DIGEST}"
OCI = {"reference": MODEL, "sizeLimit": "20Gi"}
PLAIN = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def edited(template: dict[str, Any], request: Request, oci: dict[str, Any] = OCI, **config: Any) -> Edited:
    made = edit(copy.deepcopy(template), request, Config.model_validate({"oci": oci, **config}))
    assert isinstance(made, Edited)
    return made


def unpacking(template: dict[str, Any], request: Request, oci: dict[str, Any] = OCI) -> dict[str, Any]:
    """The init container that unpacks the model."""
    container: dict[str, Any] = edited(template, request, oci).template["spec"]["initContainers"][-1]
    return container


def test_kit_unpacks_the_model_into_a_folder_that_engines_only_read(
    generated: dict[str, Any], pod_request: Request
) -> None:
    expected = copy.deepcopy(generated)
    spec = expected["spec"]
    spec["volumes"] = [
        {"name": "model-cache", "emptyDir": {"sizeLimit": "20Gi"}},
        {"name": "model-cache-kit", "emptyDir": {"sizeLimit": "20Gi"}},
    ]
    spec["initContainers"].append(
        {
            "name": "model-unpack",
            "image": "ghcr.io/kitops-ml/kitops:v1.11.0",
            "command": ["kit"],
            "args": ["unpack", MODEL, "--dir", "/models", "--overwrite"],
            "env": [{"name": "KITOPS_HOME", "value": "/tmp/kit"}],
            "volumeMounts": [
                {"name": "model-cache", "mountPath": "/models"},
                {"name": "model-cache-kit", "mountPath": "/tmp/kit"},
            ],
            "securityContext": PLAIN,
        }
    )
    engine = spec["containers"][1]
    engine["volumeMounts"] = [{"name": "model-cache", "mountPath": "/models", "readOnly": True}]
    assert edited(generated, pod_request, mountPath="/models") == Edited(expected)


def test_an_engine_that_is_offline_is_told_so_and_has_no_cache(
    generated: dict[str, Any], pod_request: Request
) -> None:
    engine = edited(generated, pod_request, offline=True).template["spec"]["containers"][1]
    assert engine["env"] == [
        *generated["spec"]["containers"][1].get("env", []),
        {"name": "HF_HUB_OFFLINE", "value": "1"},
        {"name": "TRANSFORMERS_OFFLINE", "value": "1"},
    ]


@pytest.mark.parametrize(
    ("pod", "own", "secret"),
    [
        ({"imagePullSecrets": [{"name": "first"}, {"name": "second"}]}, {}, "first"),
        ({"imagePullSecrets": [{"name": "first"}]}, {"pullSecret": "registry"}, "registry"),
        ({}, {"pullSecret": "registry"}, "registry"),
    ],
)
def test_credentials_come_from_a_secret_that_kit_alone_sees(
    generated: dict[str, Any], pod_request: Request, pod: dict[str, Any], own: dict[str, str], secret: str
) -> None:
    generated["spec"] |= pod
    spec = edited(generated, pod_request, {**OCI, **own}).template["spec"]
    items = [{"key": ".dockerconfigjson", "path": "config.json"}]
    assert spec["volumes"][-1] == {
        "name": "model-cache-docker",
        "secret": {"secretName": secret, "items": items},
    }
    *others, unpack = (*spec["containers"], *spec["initContainers"])
    mount = {"name": "model-cache-docker", "mountPath": "/.docker", "readOnly": True}
    assert unpack["env"][-1] == {"name": "DOCKER_CONFIG", "value": "/.docker"}
    assert [mount in container.get("volumeMounts", []) for container in (*others, unpack)] == [
        *(False for _ in others),
        True,
    ]


def test_the_image_is_that_of_the_config_or_of_the_cluster(
    generated: dict[str, Any], pod_request: Request
) -> None:
    request = replace(pod_request, cluster=replace(pod_request.cluster, kit_image="mirror.example.com/kit:1"))
    own = {**OCI, "image": "kit:own"}
    images = [unpacking(generated, request)["image"], unpacking(generated, request, own)["image"]]
    assert images == ["mirror.example.com/kit:1", "kit:own"]


def test_http_is_used_where_it_is_asked_for(generated: dict[str, Any], pod_request: Request) -> None:
    assert unpacking(generated, pod_request, {**OCI, "plainHttp": True})["args"][-1] == "--plain-http"


def test_a_tag_is_remarked(generated: dict[str, Any], pod_request: Request) -> None:
    tagged = {**OCI, "reference": "registry.example.com/qwen:v1"}
    assert edited(generated, pod_request, tagged).remarks == (
        "each pod unpacks what registry.example.com/qwen:v1 is when it starts; a digest is always the same",
    )


@pytest.mark.parametrize(
    ("model", "folder", "elsewhere"),
    [
        ("Qwen/Qwen3-0.6B", None, True),
        ("/models-of-others", None, True),
        ("/models", None, False),
        ("/models/qwen/", None, False),
        ("qwen", "/models", False),
        (None, None, False),
    ],
)
def test_an_engine_that_loads_something_else_is_remarked(
    generated: dict[str, Any],
    pod_request: Request,
    model: str | None,
    folder: str | None,
    elsewhere: bool,
) -> None:
    if folder:
        generated["spec"]["containers"][1]["workingDir"] = folder
    request = replace(pod_request, deployment=replace(pod_request.deployment, model=model))
    said = (
        f"each pod unpacks a model to /models, and the engine's is {model!r}, which it would load from "
        "elsewhere; write engine.model: /models"
    )
    remarks = edited(generated, request, mountPath="/models").remarks
    assert remarks == ((said,) if elsewhere else ())


def test_a_registry_may_be_known_by_its_port(generated: dict[str, Any], pod_request: Request) -> None:
    local = {**OCI, "reference": "localhost:5000/qwen:v1"}
    assert unpacking(generated, pod_request, local)["args"][1] == "localhost:5000/qwen:v1"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"oci": {"reference": "qwen:v1", "sizeLimit": "1Gi"}}, "in lower case and a tag or digest"),
        ({"oci": {"reference": "oci://r.example.com/qwen:v1", "sizeLimit": "1Gi"}}, "a registry"),
        ({"oci": {"reference": "r.example.com/Qwen/Qwen3:v1", "sizeLimit": "1Gi"}}, "in lower case"),
        ({"oci": {"reference": "myorg/qwen:v1", "sizeLimit": "1Gi"}}, "a registry .with a dot or a port."),
        ({"oci": {"reference": "r.example.com/qwen", "sizeLimit": "1Gi"}}, "a tag or digest"),
        ({"oci": {"reference": MODEL}}, "sizeLimit"),
        ({"oci": OCI, "layout": "NIM"}, "NIM does not take a model by its folder"),
        ({"oci": OCI, "compileCache": True}, "the volume is read-only"),
        ({"oci": OCI, "emptyDir": {"sizeLimit": "1Gi"}}, "and has emptyDir and oci"),
    ],
)
def test_a_config_that_contradicts_itself_about_oci_is_refused(config: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Config.model_validate(config)
