"""Which classes are meant: by GPU, number per node, memory of each, and who makes the nodes."""

import re
from dataclasses import dataclass
from decimal import Decimal

from inferfleet.api.inference_class import Device, InferenceClass
from inferfleet.api.quantity import parse_quantity
from inferfleet.fleet.devices import accelerators

# What the search calls the provider of nodes that exist already.
NO_PROVIDER = "none"


@dataclass(frozen=True)
class Search:
    """What was asked for; None asks for nothing. `min_memory` is in bytes, of each GPU."""

    gpu: str | None = None
    count: int | None = None
    min_memory: Decimal | None = None
    provider: str | None = None

    def found(self, one: InferenceClass) -> bool:
        """True when the class has the provider, and one kind of accelerator all that is asked of it."""
        if self.provider is not None and self.provider.lower() != provider(one).lower():
            return False
        if (self.gpu, self.count, self.min_memory) == (None, None, None):
            return True
        return any(self._device(one, device) for device in accelerators(one))

    def _device(self, one: InferenceClass, device: Device) -> bool:
        if self.count is not None and device.count != self.count:
            return False
        if self.min_memory is not None and (memory(device) or 0) < self.min_memory:
            return False
        return self.gpu is None or _words(self.gpu) <= _described(one, device)


def provider(one: InferenceClass) -> str:
    """Who makes nodes of the class."""
    return one.spec.provisioning.provider if one.spec.provisioning else NO_PROVIDER


def memory(device: Device) -> Decimal | None:
    """Of one such device, in bytes."""
    stated = device.capacity.get("memory") or device.capacity.get(f"{device.driver}/memory")
    return parse_quantity(stated.value) if stated else None


def _described(one: InferenceClass, device: Device) -> set[str]:
    """The words of its name, product and architecture. Whole words, so that L4 is not found in L40."""
    texts = [value.string for value in device.attributes.values() if value.string is not None]
    return _words(" ".join([one.metadata.name, *texts]))


def _words(text: str) -> set[str]:
    return set(re.findall("[a-z0-9]+", text.lower()))
