"""Builders of a stack's state: each test names only what it is about."""

from typing import Any

from inferfleet.recovery.state import State

Values = dict[str, Any]
URN = "urn:pulumi:prod::inferfleet::inferfleet:components:X$"
EAST = f"{URN}pulumi:providers:kubernetes::east::id-east"
GOOGLE = "urn:pulumi:prod::inferfleet::pulumi:providers:gcp::gcp::id-gcp"
POOL = "gcp:container/nodePool:NodePool"
IN = "projects/acme/locations/us-east5/clusters/east-1/nodePools"


def urn(token: str, name: str) -> str:
    return f"{URN}{token}::{name}"


def resource(token: str, name: str, own: str | None = None, *, made: bool = True, **more: Any) -> Values:
    """`made`: a provider has said what it looks like."""
    given: Values = {"urn": urn(token, name), "type": token, "custom": True, "provider": EAST}
    if own:
        given["id"] = own
    if own and made:
        given["outputs"] = {"metadata": {}}
    return given | more


def config_map(name: str, *, made: bool = False, **more: Any) -> Values:
    metadata = {"name": name, "namespace": "ml"}
    inputs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    own = f"ml/{name}" if made else None
    return resource("kubernetes:core/v1:ConfigMap", f"east/ml/{name}", own, inputs=inputs, **more)


def pool(name: str, *, made: bool = False, **more: Any) -> Values:
    """A node pool of the document's pool `h100`; `name` is its name in the cloud."""
    inputs = {"project": "acme", "location": "us-east5", "cluster": "east-1", "name": name}
    own = f"{IN}/{name}" if made else None
    return resource(POOL, "east/h100", own, inputs=inputs, provider=GOOGLE, **more)


def exported(*resources: Values, pending: tuple[tuple[str, Values], ...] = ()) -> Values:
    operations = [{"type": kind, "resource": values} for kind, values in pending]
    return {
        "version": 3,
        "deployment": {"resources": list(resources)}
        | ({"pending_operations": operations} if operations else {}),
    }


def state(*resources: Values, pending: tuple[tuple[str, Values], ...] = ()) -> State:
    return State(exported(*resources, pending=pending))
