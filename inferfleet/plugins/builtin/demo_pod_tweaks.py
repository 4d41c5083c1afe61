"""Plugin demo-pod-tweaks: a runtime class, annotations and environment variables, for every container.

Kthena's plugin of this name takes the same config. One difference: a variable of a name that exists is
replaced in place, where Kthena appends a second one.
"""

from inferfleet.plugins import api
from inferfleet.plugins.api import (
    Env,
    MetadataKey,
    Plugin,
    PodTemplate,
    Request,
    RuntimeClassName,
    containers,
    mapping,
    put_env,
)


class Config(api.Config):
    """Fields that are set override those of the template."""

    runtime_class_name: RuntimeClassName = ""
    """RuntimeClass of the pods. Default: that of the template."""
    annotations: dict[MetadataKey, str] = {}
    """Annotations of the pods. Default: none besides the template's."""
    env: Env = ()
    """Environment variables of every container, as in Kubernetes. Default: none besides the template's."""


def edit(template: PodTemplate, request: Request, config: Config) -> PodTemplate:
    """Set a runtime class, annotations, and environment variables of every container."""
    if config.runtime_class_name:
        mapping(template, "spec")["runtimeClassName"] = config.runtime_class_name
    if config.annotations:
        mapping(template, "metadata", "annotations").update(config.annotations)
    for container in containers(template):
        put_env(container, *(variable.manifest for variable in config.env))
    return template


PLUGIN = Plugin("demo-pod-tweaks", Config, edit, version="1.0.0")
