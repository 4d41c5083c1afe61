"""Field types for plugin configs, checked by the rules of the Kubernetes API."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from inferfleet.documents.pods.texts import ENV_NAME, LABEL_KEY, LABEL_VALUE, SUBDOMAIN, TextRule
from inferfleet.documents.problems import Mistake, mistaken
from inferfleet.documents.quantity import parse_quantity
from inferfleet.plugins.contract import Config, PodTemplate
from inferfleet.plugins.put import put_field

# Objects of most kinds, such as Secrets, have such names.
ObjectName = Annotated[str, SUBDOMAIN]
# Empty means "leave it as it is", as in Kthena.
RuntimeClassName = Annotated[
    str, TextRule(f"({SUBDOMAIN.pattern})?", "the name of a RuntimeClass, such as nvidia")
]
# Labels and annotations have the same keys.
MetadataKey = Annotated[str, LABEL_KEY]
LabelValue = Annotated[str, Field(min_length=1), LABEL_VALUE]
EnvName = Annotated[str, ENV_NAME]


def _check_above_zero(amount: str) -> str:
    """Return the amount. Raises Mistaken where it is not more than 0."""
    if parse_quantity(amount) <= 0:
        raise mistaken(f"{{field}} {amount} must be more than 0", "Write it like 250m or 5Gi")
    return amount


Amount = Annotated[str, AfterValidator(_check_above_zero)]


class EnvVar(Config):
    """An environment variable, as in a Kubernetes container, whose rules the edited template is held to."""

    name: EnvName
    value: str | None = None
    value_from: dict[str, Any] | None = None

    @property
    def manifest(self) -> dict[str, Any]:
        return self.model_dump(by_alias=True, exclude_none=True)


Env = tuple[EnvVar, ...]


def limit_mistakes(config: Config, requests: Mapping[str, str]) -> Iterator[Mistake]:
    """Yield requests, by resource, beyond their limits: fields of the config, such as `memory_limit`."""
    for name, request in requests.items():
        field = f"{name.replace('-', '_')}_limit"
        limit = getattr(config, field)
        if limit is not None and parse_quantity(request) > parse_quantity(limit):
            key = type(config).model_fields[field].alias or field
            yield Mistake(
                f"{name} requested is {request}, which is more than {key} {limit}",
                "Lower the request, or raise the limit",
                (key,),
            )


class SidecarConfig(Config):
    """What a sidecar requests that a webhook injects, and the most that it may use: base of such configs.

    A webhook that finds no annotation takes its own defaults, which no plan counts. So `inject` writes all
    requests, and a subclass has the defaults of its webhook: what is planned is what is injected. The
    annotation of a limit that is None is left out, which leaves that limit to the webhook.
    """

    container: ClassVar[str]
    """Name of its container."""
    annotations: ClassVar[Mapping[str, str]]
    """The annotation for each field."""

    cpu: Amount
    memory: Amount
    cpu_limit: Amount | None = None
    memory_limit: Amount | None = None

    def mistakes(self) -> Iterator[Mistake]:
        """Return requests beyond their limits."""
        return limit_mistakes(self, self.requests)

    @property
    def requests(self) -> dict[str, str]:
        """Return what the sidecar requests."""
        return {"cpu": self.cpu, "memory": self.memory}

    def inject(self, template: PodTemplate) -> dict[str, dict[str, str]]:
        """Write the annotations, and return what is injected.

        Raises PluginError where the template has one with another value.
        """
        for field, annotation in self.annotations.items():
            value = getattr(self, field)
            if value is not None:
                put_field(template, "metadata", "annotations", annotation, value=value)
        return {self.container: self.requests}
