"""model-cache shown on whole pods, source by source, and what contradicts itself."""

import copy
from dataclasses import replace
from typing import Any

import pytest
from example_plugins import DIGEST
from pydantic import ValidationError

from inferfleet.plugins.api import Edited, PluginError, Request
from inferfleet.plugins.builtin.model_cache import Config, edit

LAST = {"name": "LAST", "value": "$(HF_HOME)"}
IMAGE = f"registry.example.com/qwen@sha256:{DIGEST}"
BUCKET = {"bucket": "models", "mountOptions": ["implicit-dirs", "file-cache:max-size-mb:-1"]}


@pytest.fixture
def generated(generated: dict[str, Any]) -> dict[str, Any]:
    """The template of all, whose engine looks where the cache is by default."""
    generated["spec"]["containers"][1]["env"] = [HOME.copy(), LAST.copy()]
    return generated


def cached(
    generated: dict[str, Any], source: dict[str, Any], mount: dict[str, Any], *env: dict[str, Any]
) -> dict[str, Any]:
    """The pod with the volume, mounted in the engine, whose variables are these."""
    expected = copy.deepcopy(generated)
    expected["spec"]["volumes"] = [{"name": "model-cache", **source}]
    engine = expected["spec"]["containers"][1]
    engine["volumeMounts"] = [{"name": "model-cache", **mount}]
    engine["env"] = [*env]
    return expected


def variable(name: str, value: str) -> dict[str, Any]:
    return {"name": name, "value": value}


def secret(variable: str, name: str, key: str) -> dict[str, Any]:
    return {"name": variable, "valueFrom": {"secretKeyRef": {"name": name, "key": key}}}


OFFLINE = [variable("HF_HUB_OFFLINE", "1"), variable("TRANSFORMERS_OFFLINE", "1")]
MODULES = variable("HF_MODULES_CACHE", "/tmp/hf-modules")
HOME = variable("HF_HOME", "/model-cache")


def test_a_claim_is_the_home_of_hugging_face_and_the_token_comes_from_a_secret(
    generated: dict[str, Any], pod_request: Request
) -> None:
    expected = cached(
        generated,
        {"persistentVolumeClaim": {"claimName": "models"}},
        {"mountPath": "/model-cache", "subPath": "hf"},
        HOME,
        LAST,
        variable("VLLM_CACHE_ROOT", "/model-cache/vllm"),
        secret("HF_TOKEN", "hf", "token"),
    )
    config = {
        "pvc": {"claimName": "models", "subPath": "hf"},
        "hfToken": {"name": "hf", "key": "token"},
        "compileCache": True,
    }
    assert edit(generated, pod_request, Config.model_validate(config)) == Edited(expected)


def test_an_image_is_mounted_by_digest_and_nothing_is_downloaded(
    generated: dict[str, Any], pod_request: Request
) -> None:
    expected = cached(
        generated,
        {"image": {"reference": IMAGE, "pullPolicy": "IfNotPresent"}},
        {"mountPath": "/models", "readOnly": True},
        variable("HF_HOME", "/models"),
        LAST,
        *OFFLINE,
        MODULES,
    )
    generated["spec"]["containers"][1]["env"][0]["value"] = "/models"
    config = {"image": {"reference": IMAGE}, "mountPath": "/models", "offline": True}
    remark = "cluster east must have image volumes, which are on by default from Kubernetes 1.35"
    assert edit(generated, pod_request, Config.model_validate(config)) == Edited(expected, remarks=(remark,))


@pytest.mark.parametrize("version", ["1.35", "1.36.2-gke.100", "1.40"])
def test_a_cluster_that_has_image_volumes_needs_no_remark(
    generated: dict[str, Any], pod_request: Request, version: str
) -> None:
    request = replace(pod_request, cluster=replace(pod_request.cluster, version=version))
    config = Config.model_validate({"image": {"reference": IMAGE}, "offline": True})
    assert edit(generated, request, config).remarks == ()


@pytest.mark.parametrize("version", ["1.34", "1.33.4-gke.100"])
def test_a_cluster_that_may_be_without_image_volumes_is_refused(
    generated: dict[str, Any], pod_request: Request, version: str
) -> None:
    request = replace(pod_request, cluster=replace(pod_request.cluster, version=version))
    config = Config.model_validate({"image": {"reference": IMAGE}, "offline": True})
    with pytest.raises(PluginError) as raised:
        edit(generated, request, config)
    assert str(raised.value) == (
        f"cluster east is known to have Kubernetes {version} or later, which may be without image volumes, "
        "which are on by default from Kubernetes 1.35; raise minVersion of the cluster, or take pvc or "
        "gcsFuse"
    )


def test_a_bucket_is_a_volume_of_the_driver(generated: dict[str, Any], pod_request: Request) -> None:
    expected = cached(
        generated,
        {
            "csi": {
                "driver": "gcsfuse.csi.storage.gke.io",
                "readOnly": True,
                "volumeAttributes": {
                    "bucketName": "models",
                    "mountOptions": "implicit-dirs,file-cache:max-size-mb:-1",
                },
            }
        },
        {"mountPath": "/model-cache", "readOnly": True},
        HOME,
        LAST,
        *OFFLINE,
        MODULES,
    )
    remark = "ServiceAccount ml/default needs access to the bucket models"
    config = Config.model_validate({"gcsFuse": BUCKET, "offline": True})
    assert edit(generated, pod_request, config) == Edited(expected, remarks=(remark,))


def test_the_sizes_of_the_sidecar_that_are_set_are_written(
    generated: dict[str, Any], pod_request: Request
) -> None:
    sidecar = {"cpu": "2", "memory": "4Gi", "memoryLimit": "8Gi", "ephemeralStorageLimit": "50Gi"}
    bucket = {**BUCKET, "sidecar": sidecar}
    edited = edit(generated, pod_request, Config.model_validate({"gcsFuse": bucket, "offline": True}))
    assert edited.template["metadata"]["annotations"] == {
        "gke-gcsfuse/cpu-request": "2",
        "gke-gcsfuse/cpu-limit": "0",
        "gke-gcsfuse/memory-request": "4Gi",
        "gke-gcsfuse/memory-limit": "8Gi",
        "gke-gcsfuse/ephemeral-storage-limit": "50Gi",
    }


def test_an_empty_dir_is_limited(generated: dict[str, Any], pod_request: Request) -> None:
    expected = cached(
        generated, {"emptyDir": {"sizeLimit": "200Gi"}}, {"mountPath": "/model-cache"}, HOME, LAST
    )
    config = Config.model_validate({"emptyDir": {"sizeLimit": "200Gi"}})
    assert edit(generated, pod_request, config) == Edited(expected)


def test_nim_has_a_cache_and_a_key_of_its_own(generated: dict[str, Any], pod_request: Request) -> None:
    expected = cached(
        generated,
        {"persistentVolumeClaim": {"claimName": "nim"}},
        {"mountPath": "/opt/nim/.cache"},
        HOME,
        LAST,
        variable("NIM_CACHE_PATH", "/opt/nim/.cache"),
        secret("NGC_API_KEY", "ngc", "api-key"),
    )
    config = {
        "pvc": {"claimName": "nim"},
        "layout": "NIM",
        "ngcApiKey": {"name": "ngc", "key": "api-key"},
    }
    assert edit(generated, pod_request, Config.model_validate(config)) == Edited(expected)


def test_a_container_that_downloads_gets_the_same(generated: dict[str, Any], pod_request: Request) -> None:
    config = Config.model_validate({"pvc": {"claimName": "m"}, "containers": ["fetch", "engine"]})
    spec = edit(generated, pod_request, config).template["spec"]
    fetch = {
        "name": "fetch",
        "image": "fetch:1",
        "volumeMounts": [{"name": "model-cache", "mountPath": "/model-cache"}],
        "env": [HOME],
    }
    assert spec["initContainers"] == [fetch]
    assert spec["containers"][1]["volumeMounts"] == fetch["volumeMounts"]


PVC = {"pvc": {"claimName": "m"}}


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({}, "needs one of pvc, image, gcsFuse, emptyDir, oci, and has none"),
        ({**PVC, "emptyDir": {"sizeLimit": "1Gi"}}, "and has pvc and emptyDir"),
        ({"image": {"reference": "qwen:latest"}, "offline": True}, "must be an image by digest"),
        ({"image": {"reference": IMAGE}}, "read-only, so what is missing in it cannot be downloaded"),
        ({"pvc": {"claimName": "m", "readOnly": True}}, "read-only, so what is missing in it"),
        ({"emptyDir": {"sizeLimit": "1Gi"}, "offline": True}, "an emptyDir begins empty"),
        ({"emptyDir": {"sizeLimit": "0"}}, "must be a quantity such as 200Gi"),
        ({**PVC, "offline": True, "hfToken": {"name": "a", "key": "b"}}, "no token is of use"),
        ({**PVC, "hfToken": "hf_abc"}, "hfToken"),
        ({**PVC, "ngcApiKey": {"name": "a", "key": "b"}}, "ngcApiKey is of use to NIM alone"),
        ({"image": {"reference": IMAGE}, "offline": True, "compileCache": True}, "volume is read-only"),
        ({"pvc": {"claimName": "m", "subPath": "../x"}}, r"a path inside the volume, without \.\."),
        ({**PVC, "mountPath": "models"}, "must be an absolute path"),
        (
            {
                "gcsFuse": {**BUCKET, "sidecar": {"ephemeralStorage": "2Gi", "ephemeralStorageLimit": "1Gi"}},
                "offline": True,
            },
            "ephemeral-storage requested is 2Gi, which is more than ephemeralStorageLimit 1Gi",
        ),
    ],
)
def test_a_config_that_contradicts_itself_is_refused(config: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Config.model_validate(config)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (
            {**PVC, "containers": ["fetcher"]},
            "names fetcher, which the pod does not have; it has logs, engine",
        ),
        ({**PVC, "mountPath": "/data"}, "the pod has another mount /data"),
        (
            {**PVC, "mountPath": "/models"},
            "container engine has HF_HOME already, with another value; remove one of the two",
        ),
        (
            {**PVC, "hfToken": {"name": "hf", "key": "token"}},
            "container engine has HF_TOKEN already, with another value",
        ),
    ],
)
def test_what_the_pod_does_not_allow_is_refused(
    generated: dict[str, Any], pod_request: Request, config: dict[str, Any], said: str
) -> None:
    engine = generated["spec"]["containers"][1]
    engine["volumeMounts"] = [{"name": "own", "mountPath": "/data"}]
    engine["env"].append(secret("HF_TOKEN", "other", "token"))
    with pytest.raises(PluginError, match=said):
        edit(generated, pod_request, Config.model_validate(config))


def test_another_engine_compiles_nothing_that_is_kept(
    generated: dict[str, Any], pod_request: Request
) -> None:
    request = replace(pod_request, deployment=replace(pod_request.deployment, engine="SGLang"))
    with pytest.raises(PluginError, match="compileCache is for vLLM, and the engine is SGLang"):
        edit(generated, request, Config.model_validate({**PVC, "compileCache": True}))
