"""What a plugin is: a function of a pod template and a request, with a config model of its own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from inferfleet.api.kinds.inference_class import Device

PodTemplate = dict[str, Any]


class Config(BaseModel):
    """Base of plugin configs: strict about keys, written in camelCase."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


@dataclass(frozen=True)
class Request:
    """What a plugin knows about the pod it edits, besides the template itself."""

    namespace: str
    deployment: str
    workload: str  # name of the Kubernetes workload; companions are called <workload>-<plugin>
    cluster: str
    pool: str
    role: str
    position: Literal["Entry", "Worker"]
    engine: str  # vLLM | SGLang | TensorRT-LLM | Triton | Other
    class_name: str
    accelerator: Device  # the device a pod of this role asks for
    gpus: int  # per pod


@dataclass(frozen=True)
class Edited:
    """A template together with objects that its pods need, such as a ConfigMap."""

    template: PodTemplate
    companions: tuple[dict[str, Any], ...] = ()


class PluginError(Exception):
    """Raised by a plugin for something that a person has to fix; the text says what, and how to fix it."""


Edit = Callable[[PodTemplate, Request, Any], PodTemplate | Edited]


@dataclass(frozen=True)
class Plugin:
    """A registered plugin. `edit` gets its own copy of the template, and must be safe to run twice."""

    name: str
    config: type[BaseModel]
    edit: Edit
