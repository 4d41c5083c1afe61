"""PodTemplate: the part of a pod that the team writes, kept as it was written."""

from typing import Annotated, Any

from pydantic import AfterValidator

from inferfleet.documents.kinds.base import Model, Quantity
from inferfleet.documents.kinds.containers import engine_container
from inferfleet.documents.kinds.text_rules import label_mistakes
from inferfleet.documents.pods.template import spec_mistakes, without_nulls
from inferfleet.documents.pods.texts import ANNOTATION_KEY
from inferfleet.documents.problems import Mistake, Mistaken
from inferfleet.documents.wording import shown


def _shaped(spec: dict[str, Any]) -> dict[str, Any]:
    if mistakes := list(spec_mistakes(spec)):
        raise Mistaken(*mistakes)
    written: dict[str, Any] = without_nulls(spec)
    return written


def _own_labels(labels: dict[str, str]) -> dict[str, str]:
    if mistakes := label_mistakes(labels, ("inferfleet.dev/", "llm-d.ai/")):
        raise Mistaken(*mistakes)
    return labels


def _keys(annotations: dict[str, str]) -> dict[str, str]:
    mistakes = [
        Mistake(f"the key {shown(key)!r} must be {ANNOTATION_KEY.words}", "Change it", (key,))
        for key in annotations
        if not ANNOTATION_KEY.allows(key)
    ]
    if mistakes:
        raise Mistaken(*mistakes)
    return annotations


PodSpec = Annotated[dict[str, Any], AfterValidator(_shaped)]


class TemplateMetadata(Model):
    """Labels and annotations of the pods."""

    labels: Annotated[dict[str, str], AfterValidator(_own_labels)] = {}
    """Labels of the pods, beside those that inferfleet adds. Keys under `inferfleet.dev/` and `llm-d.ai/` are
    reserved; default: none.
    """
    annotations: Annotated[dict[str, str], AfterValidator(_keys)] = {}
    """Annotations of the pods. Default: none."""


class PodTemplate(Model):
    """A Kubernetes pod template as the team writes it. Ports, probes, devices and scheduling fields that
    serving needs are added.
    """

    metadata: TemplateMetadata = TemplateMetadata()
    """Labels and annotations of the pods. Default: none."""
    spec: PodSpec
    """A Kubernetes PodSpec with exactly one container named `engine`, which serves the model, by default with
    the image of `serving.images.engine` of its cluster; other containers are kept as sidecars. `command` and
    `args` are never changed.
    """

    @property
    def manifest(self) -> dict[str, Any]:
        """Return the template as Kubernetes has it, to be compared with one that pods have."""
        return {
            "metadata": {"labels": self.metadata.labels, "annotations": self.metadata.annotations},
            "spec": self.spec,
        }

    @property
    def engine(self) -> dict[str, Any]:
        """Return the container of the engine, as written."""
        return engine_container(self.spec)[1]


class ResourceRequirements(Model):
    """Kubernetes resource requests and limits of a container."""

    requests: dict[str, Quantity] = {}
    """Amounts the scheduler reserves, by resource name, such as `cpu: "4"` or `memory: 8Gi`. Default: none.
    """
    limits: dict[str, Quantity] = {}
    """Amounts the container may use at most, by resource name. Default: none."""

    @property
    def written(self) -> dict[str, dict[str, str]]:
        """Return the amounts as a container has them, without what is empty."""
        both = {"requests": dict(self.requests), "limits": dict(self.limits)}
        return {kind: amounts for kind, amounts in both.items() if amounts}
