"""Plugin demo-pod-tweaks: a runtime class, annotations and environment variables, for every container.

Kthena's plugin of this name takes the same config. One difference: a variable of a name that exists is
replaced in place, where Kthena appends a second one.
"""

from inferfleet.plugins import contract
from inferfleet.plugins.contract import Plugin, PodTemplate, Request
from inferfleet.plugins.fields import Env, MetadataKey, RuntimeClassName
from inferfleet.plugins.pod import containers, mapping, upsert_env


class Config(contract.Config):
    """Fields that are set override those of the template."""

    runtime_class_name: RuntimeClassName = ""
    annotations: dict[MetadataKey, str] = {}
    env: Env = ()


def edit(template: PodTemplate, request: Request, config: Config) -> PodTemplate:
    if config.runtime_class_name:
        mapping(template, "spec")["runtimeClassName"] = config.runtime_class_name
    if config.annotations:
        mapping(template, "metadata", "annotations").update(config.annotations)
    for container in containers(template):
        upsert_env(container, (variable.manifest for variable in config.env))
    return template


PLUGIN = Plugin("demo-pod-tweaks", Config, edit)
