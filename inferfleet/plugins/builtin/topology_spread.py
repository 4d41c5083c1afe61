"""Plugin topology-spread: pods of a workload on different zones or nodes.

The selector is that of the workload's own pods. `pod-template-hash` is among the keys that must match, so
that pods of a new revision are counted apart from those that still run; otherwise a rollout ends uneven. The
label is the Deployment controller's own.

A hard constraint keeps pods Pending where it cannot hold, so what is known of the pool is checked first: more
zones than the pool has can never be filled. With `nodeAffinityPolicy: Ignore`, nodes of other pools count as
places too, stay empty, and hold the pods back; hard constraints refuse it. How many nodes a pool has is not
looked at, because pools may grow.

Sources: kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints (v1.36;
matchLabelKeys and the two policies are on by default since 1.27 and 1.26, minDomains is stable since 1.30),
and pkg/apis/core/validation/validation.go of kubernetes v1.36.3 for the rules of the fields.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from inferfleet.plugins import api
from inferfleet.plugins.api import (
    MetadataKey,
    Plugin,
    PluginError,
    PodTemplate,
    Request,
    mistaken,
    sequence,
)

ZONE = "topology.kubernetes.io/zone"
_HARD = "DoNotSchedule"


class Config(api.Config):
    """One constraint; name the plugin again for another one."""

    topology_key: MetadataKey = ZONE
    """Label whose values are the places, such as `kubernetes.io/hostname`."""
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"] = "ScheduleAnyway"
    """Whether a pod waits (`DoNotSchedule`) or goes elsewhere where the constraint cannot hold."""
    max_skew: Annotated[int, Field(ge=1)] = 1
    """How many more pods one place may have than the one that has the fewest."""
    min_domains: Annotated[int, Field(ge=1)] | None = None
    """How many places there have to be, with `DoNotSchedule` alone. Default: those that there are."""
    node_affinity_policy: Literal["Honor", "Ignore"] = "Honor"
    """Whether nodes that the pods do not select are places too (`Ignore`) or not (`Honor`)."""
    node_taints_policy: Literal["Honor", "Ignore"] = "Honor"
    """Whether nodes with taints that pods do not tolerate are places too (`Ignore`) or not (`Honor`)."""
    match_label_keys: tuple[MetadataKey, ...] = ("pod-template-hash",)
    """Labels of which pods must have the same value to be counted together. Default: `pod-template-hash`."""

    @model_validator(mode="after")
    def _check_affinity_policy(self) -> "Config":
        """Raise Mistaken where a hard rule would count nodes on which these pods never run."""
        if self.when_unsatisfiable == _HARD and self.node_affinity_policy == "Ignore":
            raise mistaken(
                f"nodeAffinityPolicy: Ignore with {_HARD} counts nodes of other pools, where these pods "
                "never run, and keeps pods Pending",
                "Remove nodeAffinityPolicy, or set whenUnsatisfiable: ScheduleAnyway",
            )
        return self


def edit(template: PodTemplate, request: Request, config: Config) -> PodTemplate:
    """Spread the pods of a workload over zones, nodes or other places."""
    if config.when_unsatisfiable == _HARD and config.topology_key == ZONE:
        _check_zones(request, config)
    spread: dict[str, Any] = {
        "topologyKey": config.topology_key,
        "whenUnsatisfiable": config.when_unsatisfiable,
        "maxSkew": config.max_skew,
        "labelSelector": {"matchLabels": dict(request.selector)},
        "nodeAffinityPolicy": config.node_affinity_policy,
        "nodeTaintsPolicy": config.node_taints_policy,
    }
    if config.min_domains:
        spread["minDomains"] = config.min_domains
    if config.match_label_keys:
        spread["matchLabelKeys"] = list(config.match_label_keys)
    spreads = sequence(template, "spec", "topologySpreadConstraints")
    if spread not in spreads:
        spreads.append(spread)
    return template


def _check_zones(request: Request, config: Config) -> None:
    """Raise PluginError for more zones than the pool has, which keep pods Pending for ever."""
    zones = request.pool.zones
    if zones and config.min_domains and config.min_domains > len(zones):
        pool, most = f"{request.cluster.name}/{request.pool.name}", config.max_skew * len(zones)
        raise PluginError(
            f"minDomains {config.min_domains} cannot hold: the zones of pool {pool} are {', '.join(zones)}, "
            f"where at most {most} of the pods could run at a time; add zones to the pool, or lower "
            "minDomains"
        )


PLUGIN = Plugin("topology-spread", Config, edit, version="1.0.0")
