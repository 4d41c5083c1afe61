"""Plugin accelerator: what pods on a kind of accelerator need besides the device request.

A runtime class, nodes with a certain product, and environment variables of the engine. Resource name, count
and tolerations are not here: they are generated for every pod, with or without plugins.
"""

from typing import Annotated, Any

from pydantic import BeforeValidator, model_validator

from inferfleet.api.problems import mistaken
from inferfleet.plugins import contract
from inferfleet.plugins.contract import Plugin, PluginError, PodTemplate, Request
from inferfleet.plugins.fields import Env, LabelValue, MetadataKey, RuntimeClassName
from inferfleet.plugins.pod import engine, mapping, sequence, upsert_env

# Node labels that hold the product's name, as the vendors set them: GPU feature discovery (NVIDIA), the node
# labeller of AMD's device plugin, GKE for TPUs.
PRODUCT_LABEL_BY_DRIVER = {
    "gpu.nvidia.com": "nvidia.com/gpu.product",
    "gpu.amd.com": "amd.com/gpu.product-name",
    "tpu.google.com": "cloud.google.com/gke-tpu-accelerator",
}
_REQUIRED = ("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")


def _one_or_many(value: Any) -> Any:
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list | tuple):
        raise mistaken(
            "product must be the name of one product, or a list of names", "Write H100 or [H100, H200]"
        )
    return tuple(value)


class Config(contract.Config):
    """What pods need: any of the products in `product`, and `engineEnv` for the engine alone."""

    runtime_class_name: RuntimeClassName = ""
    product: Annotated[tuple[LabelValue, ...], BeforeValidator(_one_or_many)] = ()
    product_label: MetadataKey | None = None
    engine_env: Env = ()

    @model_validator(mode="after")
    def _label_of_a_product(self) -> "Config":
        if self.product_label and not self.product:
            raise mistaken("productLabel is set without product", "Add product, or remove productLabel")
        return self


def edit(template: PodTemplate, request: Request, config: Config) -> PodTemplate:
    if config.runtime_class_name:
        _use_runtime_class(template, config.runtime_class_name)
    if config.product:
        label = config.product_label or PRODUCT_LABEL_BY_DRIVER.get(request.accelerator.driver)
        if label is None:
            raise PluginError(
                f"no node label with the product is known for devices of {request.accelerator.driver}; "
                "set productLabel"
            )
        _require_product(template, label, list(dict.fromkeys(config.product)))
    if config.engine_env:
        upsert_env(engine(template), (variable.manifest for variable in config.engine_env))
    return template


def _use_runtime_class(template: PodTemplate, name: str) -> None:
    spec = mapping(template, "spec")
    if spec.get("runtimeClassName") not in (None, name):
        raise PluginError(
            f"runtimeClassName {name} contradicts the template, which has {spec['runtimeClassName']}; "
            "remove one of the two"
        )
    spec["runtimeClassName"] = name


def _require_product(template: PodTemplate, label: str, products: list[str]) -> None:
    """Add the product to each term of the node affinity: terms are alternatives."""
    chosen = template["spec"].get("nodeSelector", {}).get(label)
    if chosen is not None and chosen not in products:
        raise _disagreement(label, products, [chosen])
    wanted = {"key": label, "operator": "In", "values": products}
    terms = sequence(template, *_REQUIRED, "nodeSelectorTerms")
    if not terms:
        terms.append({"matchExpressions": [wanted]})
    for term in terms:
        # An empty term matches no node; with an expression it would match some.
        if term:
            _add_expression(term, wanted)


def _add_expression(term: dict[str, Any], wanted: dict[str, Any]) -> None:
    expressions = sequence(term, "matchExpressions")
    for other in expressions:
        if (other.get("key"), other.get("operator")) != (wanted["key"], "In"):
            continue
        values = other.get("values", [])
        if not any(value in wanted["values"] for value in values):
            raise _disagreement(wanted["key"], wanted["values"], values)
    if wanted not in expressions:
        expressions.append(wanted)


def _disagreement(label: str, products: list[str], there: list[Any]) -> PluginError:
    return PluginError(
        f"product {', '.join(products)} contradicts the template, which requires {label} "
        f"{', '.join(map(str, there))}; remove one of the two"
    )


PLUGIN = Plugin("accelerator", Config, edit)
