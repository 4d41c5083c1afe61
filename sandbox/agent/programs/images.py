"""The images that the sandbox has programs for: pickers, routing sidecars, servers of conformance suites."""

from collections.abc import Mapping

from inferfleet.tables.pickers import profile
from sandbox.cluster.kwok_stages import SUITE_SERVERS
from sandbox.cluster.objects import Object
from sandbox.toolchain.parts import LLM_D

# The profile whose picker image has the version that the part `epp` of the toolchain builds.
PROFILE = "gie-1.5"
_LLM_D = "ghcr.io/llm-d"
# The program of each image.
PICKERS = {
    profile(PROFILE).epp_image: "epp",
    f"{_LLM_D}/llm-d-inference-scheduler:v{LLM_D.version}": "llm-d-epp",
}
SIDECARS = {f"{_LLM_D}/llm-d-routing-sidecar:v{LLM_D.version}": "pd-sidecar"}
# What images of llm-d are called, wherever a mirror keeps them.
OF_LLM_D = frozenset(
    image.partition(":")[0].rpartition("/")[2] for image in (*PICKERS, *SIDECARS) if image.startswith(_LLM_D)
)
# The images in the manifests of conformance suites. bench/conformance.py builds their programs.
SUITES = {
    **dict.fromkeys(SUITE_SERVERS, "echo-basic"),
    # The candidate of the picker's release.
    f"{profile(PROFILE).epp_image}-rc.1": "epp",
}
# The name of a routing sidecar's container in the manifests of llm-d.
ROUTING_SIDECAR = "routing-proxy"


def is_routing_sidecar(container: Object) -> bool:
    """Return whether an init container is a routing sidecar, by its name or the name of its image."""
    names = {_own_name(image)[0] for image in SIDECARS}
    named = container["name"] == ROUTING_SIDECAR or _own_name(container["image"])[0] in names
    return named and container.get("restartPolicy") == "Always"


def program_of(image: str, programs: Mapping[str, str]) -> str | None:
    """Return the program of the image, or None. A mirror keeps the last part of the name, and the tag."""
    same = (program for known, program in programs.items() if _own_name(known) == _own_name(image))
    return next(same, None)


def refusal(image: str, programs: Mapping[str, str]) -> str:
    """Return why the image cannot run here, or ""."""
    if program_of(image, programs) is not None:
        return ""
    return (
        f'Container image "{image}" is not in the sandbox, and nothing is run in its place. '
        f"It has programs for {' and '.join(programs)}: use one of these versions, or a mirror of that image."
    )


def _own_name(image: str) -> tuple[str, str]:
    """Return the last part of an image's name, and its tag."""
    name, _, tag = image.partition("@")[0].rpartition("/")[2].partition(":")
    return name, tag
