"""Plugin accelerator: what pods on a kind of accelerator need besides the device request.

A runtime class, nodes with a certain product, and environment variables of the engine. Resource name, count
and tolerations are not here: they are generated for every pod, with or without plugins.

The label that holds the product is GKE's own on clusters that the stack creates, and the vendor's elsewhere;
`tables.devices` has them with their sources. NVIDIA's label has a suffix where a GPU is shared (`-SHARED`)
or split (`-MIG-1g.10gb`): README of NVIDIA/k8s-device-plugin, v0.17.
"""

import re
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from inferfleet.plugins import api
from inferfleet.plugins.api import (
    Env,
    LabelValue,
    MetadataKey,
    Mistake,
    Plugin,
    PluginError,
    PodTemplate,
    Request,
    RuntimeClassName,
    accelerator,
    devices,
    engine,
    mistaken,
    put_env,
    put_field,
    require_nodes,
)

# Attributes of a class's device that name the product and, of TPUs, how the chips of a slice are connected.
_PRODUCT, _TOPOLOGY = "productName", "topology"
# Accelerator types as Google writes them, such as nvidia-h100-80gb. Names in NVIDIA's label have capitals.
_OF_GOOGLE = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_MATCH = "write what the class has, fix the class, or use scope or another chain"


def _one_or_many(value: Any) -> Any:
    """Return the names of products as a tuple. Raises Mistaken for what is neither a name nor a list."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list | tuple):
        raise mistaken(
            "product must be the name of one product, or a list of names", "Write H100 or [H100, H200]"
        )
    return tuple(value)


_IN_EDITORS = WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]})


class Config(api.Config):
    """What pods need besides the device."""

    runtime_class_name: RuntimeClassName = ""
    """RuntimeClass of the pods, such as `nvidia`. Another one in the template is refused. Default: none."""
    product: Annotated[tuple[LabelValue, ...], BeforeValidator(_one_or_many), _IN_EDITORS] = ()
    """Products of which nodes must have one, as the vendor's label or Google writes them: a name or a list.
    What contradicts the class is refused; on GKE, a name of the vendor's is compared only where the class
    has a `productName`. Default: any."""
    product_of_class: bool = False
    """Whether nodes must have the product that the class names: the accelerator type of its recipe on GKE,
    and elsewhere the attribute `productName` of its device (of TPUs `topology` too). Default: false."""
    product_label: MetadataKey | None = None
    """Node label that holds the product, whose values are then compared with nothing. Default: that of GKE on
    clusters that the stack creates, and that of the device's vendor elsewhere."""
    topology: LabelValue | None = None
    """Topology of the TPU slice that nodes belong to, such as `2x4`. Default: any."""
    engine_env: Env = ()
    """Environment variables of the engine container alone, as in Kubernetes; one of the same name in the
    template is replaced. Default: none."""

    def mistakes(self) -> Iterator[Mistake]:
        """Yield what contradicts the product and its label."""
        if self.product_label and not self.product:
            yield Mistake("productLabel is set without product", "Add product, or remove productLabel")
        if self.product and self.product_of_class:
            yield Mistake("product and productOfClass are both set", "Remove one of the two")


def edit(template: PodTemplate, request: Request, config: Config) -> PodTemplate:
    """Set what pods on a kind of accelerator need: runtime class, product of the nodes, engine variables."""
    accelerator(request)
    if config.runtime_class_name:
        put_field(template, "spec", "runtimeClassName", value=config.runtime_class_name)
    if config.product_label:
        _require(template, request, config.product_label, config.product)
    elif config.product or config.product_of_class:
        label, product = _label_and_product(request, required=config.product_of_class)
        asked = config.product
        if asked and product is not None and not any(_is(product, name, request) for name in asked):
            raise PluginError(
                f"product {', '.join(asked)} contradicts class {request.node_class.name}, whose nodes have "
                f"{product} ({label}); {_MATCH}"
            )
        # Google's label has Google's name of the product, whichever name the config has.
        by_config = asked and label != devices.GKE_ACCELERATOR
        _require(template, request, label, asked if by_config else (str(product),))
    _require_topology(template, request, config)
    put_env(engine(template), *(variable.manifest for variable in config.engine_env))
    return template


def _label_and_product(request: Request, *, required: bool) -> tuple[str, str | None]:
    """Return the node label that holds the product, and the product of the pod's class, None if not known.

    Raises PluginError where no label is known, or no product although it is required.
    """
    device = accelerator(request)
    if on_gke := request.pool.node_labels.get(devices.GKE_ACCELERATOR):
        return devices.GKE_ACCELERATOR, on_gke
    if device.driver not in devices.PRODUCT_LABELS:
        raise PluginError(
            f"no node label with the product is known for devices of {device.driver}; "
            "set productLabel and product"
        )
    label, space = devices.PRODUCT_LABELS[device.driver]
    name = device.attributes.get(_PRODUCT)
    if name is None and required:
        raise PluginError(
            f"class {request.node_class.name} does not say what its device {device.name} is; add the "
            f"attribute {_PRODUCT} to it, or set product instead of productOfClass"
        )
    return label, None if name is None else devices.product_in_label(str(name), space)


def _is(product: str, name: str, request: Request) -> bool:
    """Return whether a name can be that of the class's product, in the vendor's or Google's words."""
    vendors = accelerator(request).attributes.get(_PRODUCT)
    if vendors is None and not _OF_GOOGLE.fullmatch(name):
        return True  # Google's name of the product says nothing about the vendor's
    _, space = devices.PRODUCT_LABELS.get(accelerator(request).driver, ("", "-"))
    names = {product} if vendors is None else {product, devices.product_in_label(str(vendors), space)}
    return any(devices.is_product(name, own) for own in names)


def _require_topology(template: PodTemplate, request: Request, config: Config) -> None:
    device = accelerator(request)
    is_tpu = devices.PRODUCT_LABELS.get(device.driver, ("", ""))[0] == devices.GKE_TPU
    if config.topology and not is_tpu:
        raise PluginError(
            f"topology {config.topology} is of TPUs, but class {request.node_class.name} has devices of "
            f"{device.driver}; remove topology, or use scope or another chain"
        )
    topology_label = device.attributes.get(_TOPOLOGY) if is_tpu else None
    if config.topology and topology_label is not None and str(topology_label) != config.topology:
        raise PluginError(
            f"topology {config.topology} contradicts class {request.node_class.name}, whose nodes have "
            f"{topology_label}; {_MATCH}"
        )
    if wanted := config.topology or (topology_label if config.product_of_class else None):
        _require(template, request, devices.GKE_TPU_TOPOLOGY, (str(wanted),))


def _require(template: PodTemplate, request: Request, label: str, values: tuple[Any, ...]) -> None:
    """Require nodes of the pool on which the label has one of the values."""
    label_value = request.pool.node_labels.get(label)
    if label_value is not None and label_value not in values:
        raise PluginError(
            f"{label} {', '.join(values)} contradicts pool {request.pool.name}, whose nodes have "
            f"{label_value}; {_MATCH}"
        )
    require_nodes(template, label, list(dict.fromkeys(values)))


PLUGIN = Plugin("accelerator", Config, edit, version="1.1.0")
