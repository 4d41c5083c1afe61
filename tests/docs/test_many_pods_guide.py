"""The guide to workers of many pods: what is shown of a document is what the check of command lines wants."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from inferfleet.fleet.engine_args import check

from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.kinds.workers import Position
from inferfleet.fleet.roles import roles_of, workers_of
from inferfleet.fleet.shapes import shape

GUIDE = Path(__file__).parent.parent.parent / "docs/guides/many-pods.md"
SPECS = re.findall(r"^```yaml\n(spec:\n.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
# GPUs of the nodes that the guide speaks of.
NODE = 8


@pytest.mark.parametrize("body", SPECS)
def test_nothing_is_wrong_or_left_out_in_what_is_shown(body: str) -> None:
    spec: dict[str, Any] = yaml.safe_load(body)["spec"]
    deployment = ModelDeployment.model_validate(
        {"metadata": {"name": "kimi"}, "spec": {"replicas": 1, **spec}}
    )
    shapes = {role: (shape(workers_of(deployment, role).topology, NODE),) for role in roles_of(deployment)}
    positions: tuple[Position, ...] = ("Entry", "Follower")
    written = {("decode", position) for position in positions if deployment.spec.plugins}
    assert list(check(deployment, shapes, written=written)) == []


def test_every_way_is_shown() -> None:
    assert len(SPECS) == 8
