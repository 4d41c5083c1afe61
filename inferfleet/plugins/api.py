"""The one module that a plugin imports: the contract, parts of templates, types for configs, tables of facts.

The plugins that come with inferfleet import nothing else of it either.
"""

from inferfleet.api.kinds.text_rules import Written
from inferfleet.api.pods.security import security_mistakes
from inferfleet.api.problems import Mistake, Mistaken, mistaken
from inferfleet.plugins.contract import (
    ClassFacts,
    ClusterFacts,
    Companion,
    Config,
    DeploymentFacts,
    DeviceFacts,
    Edited,
    Plugin,
    PluginError,
    PodTemplate,
    PoolFacts,
    Ready,
    Request,
    TaintFacts,
)
from inferfleet.plugins.fields import (
    Amount,
    Env,
    EnvName,
    EnvVar,
    LabelValue,
    MetadataKey,
    ObjectName,
    RuntimeClassName,
    SidecarConfig,
)
from inferfleet.plugins.pod import (
    accelerator,
    containers,
    engine,
    mapping,
    sequence,
)
from inferfleet.plugins.put import (
    add_args,
    add_capability,
    put_container,
    put_env,
    put_field,
    put_init_container,
    put_mount,
    put_port,
    put_resource,
    put_volume,
    require_nodes,
)
from inferfleet.profiles import devices, gke, pod_security
from inferfleet.profiles.engines import EngineDefaults
from inferfleet.profiles.engines import engine as engine_defaults

__all__ = [
    "Amount",
    "ClassFacts",
    "ClusterFacts",
    "Companion",
    "Config",
    "DeploymentFacts",
    "DeviceFacts",
    "Edited",
    "EngineDefaults",
    "Env",
    "EnvName",
    "EnvVar",
    "LabelValue",
    "MetadataKey",
    "Mistake",
    "Mistaken",
    "ObjectName",
    "Plugin",
    "PluginError",
    "PodTemplate",
    "PoolFacts",
    "Ready",
    "Request",
    "RuntimeClassName",
    "SidecarConfig",
    "TaintFacts",
    "Written",
    "accelerator",
    "add_args",
    "add_capability",
    "containers",
    "devices",
    "engine",
    "engine_defaults",
    "gke",
    "mapping",
    "mistaken",
    "pod_security",
    "put_container",
    "put_env",
    "put_field",
    "put_init_container",
    "put_mount",
    "put_port",
    "put_resource",
    "put_volume",
    "require_nodes",
    "security_mistakes",
    "sequence",
]
