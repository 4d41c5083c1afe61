"""References to images, taken apart as container engines do.

https://github.com/distribution/reference/blob/main/normalize.go (`splitDockerDomain`, looked up 2026-11-24)
"""

from typing import NamedTuple

DOCKER_HUB = "docker.io"
# The old name of Docker Hub, which engines replace, and its registry's host, which comments there name.
_ALSO_DOCKER_HUB = ("index.docker.io", "registry-1.docker.io")


class Reference(NamedTuple):
    """The parts of a reference. `registry` is the host in lowercase, always one name for Docker Hub; tag and
    digest are `""` where it names none.
    """

    registry: str
    repository: str
    tag: str
    digest: str

    @property
    def may_change(self) -> bool:
        """Return whether the name may mean another image tomorrow: it has no digest and no version."""
        return not self.digest and self.tag in ("", "latest")


def reference_of(image: str) -> Reference:
    """Return the parts of a reference. One that no engine would take has parts too, such as an empty tag."""
    rest, _, digest = image.partition("@")
    first, slash, after = rest.partition("/")
    # Repositories are written in lowercase, so a first part with capitals is a host.
    is_host = slash and (first == "localhost" or "." in first or ":" in first or first != first.lower())
    registry, path = (first.lower(), after) if is_host else (DOCKER_HUB, rest)
    if registry in _ALSO_DOCKER_HUB:
        registry = DOCKER_HUB
    repository, colon, tag = path.rpartition(":")
    if not colon:
        repository, tag = path, ""
    if registry == DOCKER_HUB and "/" not in repository:
        repository = f"library/{repository}"
    return Reference(registry, repository, tag, digest)
