"""The one module that a plugin imports: the contract, access to parts of a template, and types for configs.

The plugins that come with inferfleet import nothing else of it either.
"""

from inferfleet.api.problems import Mistake, Mistaken, mistaken
from inferfleet.plugins.contract import (
    ClassFacts,
    ClusterFacts,
    Config,
    DeploymentFacts,
    DeviceFacts,
    Edited,
    Plugin,
    PluginError,
    PodTemplate,
    PoolFacts,
    Request,
    TaintFacts,
)
from inferfleet.plugins.fields import Env, EnvName, EnvVar, LabelValue, MetadataKey, RuntimeClassName
from inferfleet.plugins.pod import containers, engine, mapping, sequence
from inferfleet.plugins.put import (
    add_args,
    add_capability,
    put_container,
    put_env,
    put_init_container,
    put_mount,
    put_port,
    put_volume,
    require_nodes,
)

__all__ = [
    "ClassFacts",
    "ClusterFacts",
    "Config",
    "DeploymentFacts",
    "DeviceFacts",
    "Edited",
    "Env",
    "EnvName",
    "EnvVar",
    "LabelValue",
    "MetadataKey",
    "Mistake",
    "Mistaken",
    "Plugin",
    "PluginError",
    "PodTemplate",
    "PoolFacts",
    "Request",
    "RuntimeClassName",
    "TaintFacts",
    "add_args",
    "add_capability",
    "containers",
    "engine",
    "mapping",
    "mistaken",
    "put_container",
    "put_env",
    "put_init_container",
    "put_mount",
    "put_port",
    "put_volume",
    "require_nodes",
    "sequence",
]
