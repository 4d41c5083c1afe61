"""References to images are taken apart as container engines do, and Docker Hub has one name."""

import pytest

from inferfleet.tables.images import reference_of

DIGEST = f"sha256:{'0' * 64}"


@pytest.mark.parametrize(
    ("image", "parts"),
    [
        ("vllm", ("docker.io", "library/vllm", "", "")),
        ("vllm:v1", ("docker.io", "library/vllm", "v1", "")),
        ("acme/vllm:v1", ("docker.io", "acme/vllm", "v1", "")),
        (f"ghcr.io/acme/vllm:v1@{DIGEST}", ("ghcr.io", "acme/vllm", "v1", DIGEST)),
        ("localhost/vllm", ("localhost", "vllm", "", "")),
        (f"registry:5000/a/vllm@{DIGEST}", ("registry:5000", "a/vllm", "", DIGEST)),
        ("[::1]:5000/a/vllm:v1", ("[::1]:5000", "a/vllm", "v1", "")),
        # The same registry by other names.
        ("index.docker.io/vllm:v1", ("docker.io", "library/vllm", "v1", "")),
        ("index.docker.io/acme/vllm", ("docker.io", "acme/vllm", "", "")),
        ("registry-1.docker.io/acme/vllm", ("docker.io", "acme/vllm", "", "")),
        ("Index.Docker.IO/acme/vllm", ("docker.io", "acme/vllm", "", "")),
        ("GHCR.io/acme/vllm", ("ghcr.io", "acme/vllm", "", "")),
        # A first part with capitals is a host, and no part of a repository.
        ("Acme/vllm:v1", ("acme", "vllm", "v1", "")),
        ("LOCALHOST/vllm", ("localhost", "vllm", "", "")),
    ],
)
def test_an_image_has_registry_repository_tag_and_digest(
    image: str, parts: tuple[str, str, str, str]
) -> None:
    assert reference_of(image) == parts
