"""An outside plugin: pods of a workload on different zones, as far as they go."""

from typing import Literal

from inferfleet.plugins.api import Config, Plugin, PodTemplate, Request, sequence


class TopologySpread(Config):
    topology_key: str = "topology.kubernetes.io/zone"
    """Node label whose values are the places to spread over."""
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"] = "ScheduleAnyway"
    """What the scheduler does where pods cannot be spread evenly."""


def edit(template: PodTemplate, request: Request, config: TopologySpread) -> PodTemplate:
    """Spread the pods of a workload over zones."""
    spread = {
        "maxSkew": 1,
        "topologyKey": config.topology_key,
        "whenUnsatisfiable": config.when_unsatisfiable,
        "labelSelector": {"matchLabels": dict(request.selector)},
    }
    spreads = sequence(template, "spec", "topologySpreadConstraints")
    if spread not in spreads:
        spreads.append(spread)
    return template


PLUGIN = Plugin("even-spread", TopologySpread, edit, version="1.2.0")
