"""Plugin accelerator: what pods on a kind of accelerator need besides the device request.

A runtime class, nodes with a certain product, and environment variables of the engine. Resource name, count
and tolerations are not here: they are generated for every pod, with or without plugins.
"""

from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema, model_validator

from inferfleet.plugins import api
from inferfleet.plugins.api import (
    Env,
    LabelValue,
    MetadataKey,
    Plugin,
    PluginError,
    PodTemplate,
    Request,
    RuntimeClassName,
    engine,
    mapping,
    mistaken,
    put_env,
    require_nodes,
)

# Node labels that hold the product's name, as the vendors set them: GPU feature discovery (NVIDIA), the node
# labeller of AMD's device plugin, GKE for TPUs.
PRODUCT_LABEL_BY_DRIVER = {
    "gpu.nvidia.com": "nvidia.com/gpu.product",
    "gpu.amd.com": "amd.com/gpu.product-name",
    "tpu.google.com": "cloud.google.com/gke-tpu-accelerator",
}


def _one_or_many(value: Any) -> Any:
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
    """Products of which nodes must have one, by the vendor's label: a name or a list. Default: any."""
    product_label: MetadataKey | None = None
    """Node label that holds the product. Default: that of the device's vendor."""
    engine_env: Env = ()
    """Environment variables of the engine container alone, as in Kubernetes. Default: none."""

    @model_validator(mode="after")
    def _label_of_a_product(self) -> "Config":
        if self.product_label and not self.product:
            raise mistaken("productLabel is set without product", "Add product, or remove productLabel")
        return self


def edit(template: PodTemplate, request: Request, config: Config) -> PodTemplate:
    """Set what pods on a kind of accelerator need: runtime class, product of the nodes, engine variables."""
    if config.runtime_class_name:
        _use_runtime_class(template, config.runtime_class_name)
    if config.product:
        label = config.product_label or PRODUCT_LABEL_BY_DRIVER.get(request.accelerator.driver)
        if label is None:
            raise PluginError(
                f"no node label with the product is known for devices of {request.accelerator.driver}; "
                "set productLabel"
            )
        require_nodes(template, label, list(dict.fromkeys(config.product)))
    put_env(engine(template), *(variable.manifest for variable in config.engine_env))
    return template


def _use_runtime_class(template: PodTemplate, name: str) -> None:
    spec = mapping(template, "spec")
    if spec.get("runtimeClassName") not in (None, name):
        raise PluginError(
            f"runtimeClassName {name} contradicts the template, which has {spec['runtimeClassName']}; "
            "remove one of the two"
        )
    spec["runtimeClassName"] = name


PLUGIN = Plugin("accelerator", Config, edit, version="1.0.0")
