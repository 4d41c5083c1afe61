"""Which device of a class its pods ask for."""

from inferfleet.api.inference_class import Device, InferenceClass
from inferfleet.profiles.devices import RESOURCE_BY_DRIVER


def accelerators(inference_class: InferenceClass) -> tuple[Device, ...]:
    """The claimable devices of a known driver. A class that can be used has exactly one such entry."""
    return tuple(
        device
        for device in inference_class.spec.all_devices
        if device.claim != "Synthetic" and device.driver in RESOURCE_BY_DRIVER
    )


def accelerator(inference_class: InferenceClass) -> Device | None:
    """The one device entry that pods on this class ask for; None where there is none, or no single one."""
    found = accelerators(inference_class)
    return found[0] if len(found) == 1 else None


def resource(inference_class: InferenceClass) -> str | None:
    """The extended resource that pods request, such as `nvidia.com/gpu`."""
    device = accelerator(inference_class)
    return RESOURCE_BY_DRIVER[device.driver] if device else None
