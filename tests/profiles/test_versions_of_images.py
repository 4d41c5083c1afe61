"""Which version of vLLM the name of an image tells."""

import pytest

from inferfleet.profiles.kv_transfer import version_for_args, version_of


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("vllm/vllm-openai:v0.30.0", (0, 30, 0)),
        ("vllm/vllm-openai:v0.10.1.1", (0, 10, 1, 1)),
        ("vllm/vllm-openai:v0.6.3.post1", (0, 6, 3)),
        ("vllm/vllm-openai:v0.19.0-cu130", (0, 19, 0)),
        ("vllm/vllm-openai-rocm:v0.18.0", (0, 18, 0)),
        ("vllm/vllm-openai-cpu:v0.23.0", (0, 23, 0)),
        ("docker.io/vllm/vllm-tpu:v0.18.0", (0, 18, 0)),
        ("reg.example/vllm-openai:v0.10.2", (0, 10, 2)),
        ("reg.example:5000/mirror/vllm/vllm-openai:v0.10.2@sha256:" + "a" * 64, (0, 10, 2)),
        ("lmcache/vllm-openai:v0.3.9", None),
        ("reg.example:5000/ml/vllm-openai:0.3", None),
        ("reg.example/my-vllm-openai-fork:v0.10.2", None),
        ("reg.example/my-vllm-openai:v0.10.2", None),
        ("reg.example/vllm-openai/server:v0.10.2", None),
        ("vllm/vllm-openai:latest", None),
        ("vllm/vllm-openai:v0.10.1.1.1", None),
        ("lmsysorg/sglang:v0.5.4", None),
        (None, None),
    ],
)
def test_images_of_vllm_tell_their_version_whatever_the_registry(
    image: str | None, version: tuple[int, ...] | None
) -> None:
    assert version_of(image) == version


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("vllm/vllm-openai:v0.30.0", (0, 30, 0)),
        ("reg.example/vllm/vllm-openai:v0.30.0", (0, 30, 0)),
        ("vllm/vllm-openai-rocm:v0.30.0", None),
        ("reg.example/vllm-openai:v0.30.0", None),
        ("vllm/vllm-openai:v0.30.0.1", None),
    ],
)
def test_arguments_follow_the_images_that_they_followed_so_that_no_pod_restarts(
    image: str, version: tuple[int, ...] | None
) -> None:
    assert version_for_args(image) == version
