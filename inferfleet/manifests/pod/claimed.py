"""How a pod asks for its devices, by an extended resource or by claims, and which claims it must not have."""

from collections.abc import Iterator
from typing import Any

from inferfleet.fleet import names
from inferfleet.manifests.pod.hardware import Hardware
from inferfleet.manifests.pod.parts import Contradiction, Spec

# What lets pods have devices again.
WITHOUT = "accelerator: None of the deployment"


def ask_for_devices(spec: dict[str, Any], container: dict[str, Any], hardware: Hardware) -> None:
    """Let the engine's container ask for the devices of the pod, and the pod have its claims.

    Nothing asks for the extended resource beside claims: the two would be given different devices.
    """
    if hardware.resource is None:
        return
    resources = container.setdefault("resources", {})
    if hardware.allocation == "DevicePlugin":
        for kind in ("limits", "requests"):
            resources.setdefault(kind, {})[hardware.resource] = str(hardware.gpus)
    if hardware.claims:
        spec["resourceClaims"] = generated(hardware)
        resources["claims"] = [{"name": claim.name} for claim in hardware.claims]


def generated(hardware: Hardware) -> list[dict[str, str]]:
    """Return the claims of the pod, as its spec has them."""
    return [{"name": claim.name, "resourceClaimTemplateName": claim.template} for claim in hardware.claims]


def claimed_gpus(hardware: Hardware) -> dict[str, str]:
    """Return the annotation of how many accelerators a pod claims, which no other part of it says."""
    gpus = sum(claim.gpus for claim in hardware.claims)
    return {names.CLAIMED_GPUS: str(gpus)} if gpus else {}


def foreign_claims(spec: Spec, hardware: Hardware) -> Iterator[Contradiction]:
    """Yield claims that a team or a plugin wrote, whatever they are for.

    What one takes stands in an object on the cluster that may be another tomorrow. The plan would count
    places for pods that no node has devices for, and a claim that is named directly binds all replicas to the
    node that it was given.
    """
    ours = generated(hardware)
    if any(claim not in ours for claim in spec.get("resourceClaims", [])):
        by = (
            "claims of the topology"
            if hardware.allocation == "DRA"
            else hardware.resource or "cores and memory"
        )
        yield Contradiction(
            ("spec", "resourceClaims"),
            "the pod claims devices of its own",
            f"replicas are placed by {by}, and the plan does not see what a claim takes",
            "Remove it: the engine gets the devices of its topology"
            if hardware.resource
            else f"Remove it, or remove {WITHOUT}",
        )
