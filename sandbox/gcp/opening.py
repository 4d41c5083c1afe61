"""How a process that already has the toolchain gets at the simulated cloud of a stack.

It is a module of its own because it imports the whole Kubernetes side, which most runs of the plugin never
need.
"""

from sandbox.gcp.nodes.kwok_kubernetes import KwokKubernetes
from sandbox.gcp.operations import Cloud
from sandbox.gcp.store import Store
from sandbox.places import StackPlaces
from sandbox.problem import SandboxProblem
from sandbox.toolchain.tools import present_tools


def open_cloud(places: StackPlaces) -> Cloud:
    """Return the stack's cloud with real API servers. Raises SandboxProblem without a complete toolchain."""
    tools = present_tools()
    if tools is None:
        raise SandboxProblem(
            f"the toolchain is not complete. Run `inferfleet sandbox up --stack {places.stack}`."
        )
    return Cloud(Store(places.cloud), KwokKubernetes(places, tools))
