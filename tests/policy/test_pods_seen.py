"""Images are taken apart as container engines do."""

import pytest

from inferfleet.policy.pods import parts


@pytest.mark.parametrize(
    ("reference", "taken_apart"),
    [
        ("vllm", ("docker.io", "library/vllm", "", "")),
        ("acme/vllm:v1", ("docker.io", "acme/vllm", "v1", "")),
        ("ghcr.io/acme/vllm:v1@sha256:00", ("ghcr.io", "acme/vllm", "v1", "sha256:00")),
        ("localhost/vllm", ("localhost", "vllm", "", "")),
        ("registry:5000/a/vllm@sha256:00", ("registry:5000", "a/vllm", "", "sha256:00")),
    ],
)
def test_an_image_has_registry_repository_tag_and_digest(
    reference: str, taken_apart: tuple[str, str, str, str]
) -> None:
    assert parts(reference) == taken_apart
