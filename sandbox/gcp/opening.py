"""The simulated cloud of a stack, with real API servers behind its clusters."""

from sandbox.gcp.nodes.kwok_kubernetes import KwokKubernetes
from sandbox.gcp.operations import Cloud
from sandbox.gcp.store import Store
from sandbox.places import StackPlaces
from sandbox.problem import SandboxProblem
from sandbox.toolchain.tools import present_tools


def open_cloud(places: StackPlaces) -> Cloud:
    """Raises SandboxProblem while the toolchain is not complete."""
    tools = present_tools()
    if tools is None:
        raise SandboxProblem(
            f"the toolchain is not complete. Run `inferfleet sandbox up --stack {places.stack}`."
        )
    return Cloud(Store(places.cloud), KwokKubernetes(places, tools))
