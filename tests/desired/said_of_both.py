"""What is said of a change of a pod: written in a document, and made by a plugin."""

from collections.abc import Callable
from typing import Any

from pydantic import ValidationError
from small_stack import NOTHING, cluster, deployment, stack

from inferfleet.desired import desired
from inferfleet.documents.problems import InvalidDocuments, Problem
from inferfleet.plugins.api import Config, Plugin, PodTemplate, Request
from inferfleet.plugins.registry import builtin

Spec = dict[str, Any]
Change = Callable[[Spec], Any]
TRIED = "plugin mine: "


def by_document(change: Change, replicas: int = 1, **spec: Any) -> list[str]:
    """What is said of a document whose pod has the change."""
    pod: Spec = {"containers": [{"name": "engine", "image": "engine:1"}]}
    change(pod)
    try:
        desired(stack(cluster("east"), deployment("a", replicas, pod=pod, **spec)), NOTHING)
    except ValidationError as invalid:
        return [str(invalid)]
    except InvalidDocuments as invalid:
        return [problem.what for problem in invalid.problems]
    return []


def by_plugin(change: Callable[[PodTemplate], Any], replicas: int = 1, **spec: Any) -> list[Problem]:
    """What is said of a plugin that makes the change."""

    def edit(template: PodTemplate, request: Request, config: Config) -> PodTemplate:
        change(template)
        return template

    registry = builtin().with_(Plugin("mine", Config, edit, version="1.0.0"))
    documents = stack(cluster("east"), deployment("a", replicas, **spec), plugins=[{"name": "mine"}])
    try:
        desired(documents, NOTHING, registry=registry)
    except InvalidDocuments as invalid:
        return list(invalid.problems)
    return []


def engine(**fields: Any) -> Change:
    """Other fields of the engine's container."""
    return lambda spec: spec["containers"][0].update(fields)


def beside(**fields: Any) -> Change:
    """A second container."""

    def change(spec: Spec) -> None:
        spec["containers"][1:] = [{"name": "side", "image": "side:1", **fields}]

    return change


def pod(**fields: Any) -> Change:
    """Other fields of the pod."""
    return lambda spec: spec.update(fields)
