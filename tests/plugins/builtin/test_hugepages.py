"""hugepages shown on whole pods, and what Kubernetes would refuse."""

import copy
from typing import Any

import pytest

from inferfleet.plugins.builtin.hugepages import Config, edit
from inferfleet.plugins.contract import PluginError, Request


@pytest.fixture
def asking(generated: dict[str, Any]) -> dict[str, Any]:
    generated["spec"]["containers"][1]["resources"]["requests"]["memory"] = "64Gi"
    return generated


@pytest.mark.parametrize(
    ("config", "resource", "medium", "path"),
    [
        ({"amount": "4Gi"}, "hugepages-2Mi", "HugePages-2Mi", "/hugepages-2Mi"),
        (
            {"amount": "4Gi", "size": "1Gi", "mountPath": "/dev/hugepages"},
            "hugepages-1Gi",
            "HugePages-1Gi",
            "/dev/hugepages",
        ),
    ],
)
def test_the_engine_asks_for_pages_and_has_them_as_files(
    asking: dict[str, Any],
    pod_request: Request,
    config: dict[str, Any],
    resource: str,
    medium: str,
    path: str,
) -> None:
    expected = copy.deepcopy(asking)
    expected["spec"]["volumes"] = [{"name": resource.lower(), "emptyDir": {"medium": medium}}]
    engine = expected["spec"]["containers"][1]
    engine["resources"]["limits"][resource] = engine["resources"]["requests"][resource] = "4Gi"
    engine["volumeMounts"] = [{"name": resource.lower(), "mountPath": path}]
    assert edit(asking, pod_request, Config.model_validate(config)) == expected


def test_both_sizes_can_be_in_one_pod(asking: dict[str, Any], pod_request: Request) -> None:
    once = edit(asking, pod_request, Config(amount="4Gi"))
    twice = edit(once, pod_request, Config(amount="2Gi", size="1Gi"))
    assert twice["spec"]["containers"][1]["resources"]["limits"] == {
        "nvidia.com/gpu": "2",
        "hugepages-2Mi": "4Gi",
        "hugepages-1Gi": "2Gi",
    }


def test_another_amount_is_refused_with_both(asking: dict[str, Any], pod_request: Request) -> None:
    asking["spec"]["containers"][1]["resources"]["limits"]["hugepages-2Mi"] = "1Gi"
    with pytest.raises(PluginError, match="asks for 1Gi hugepages-2Mi already, and not 4Gi"):
        edit(asking, pod_request, Config(amount="4Gi"))


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"amount": "4G"}, "amount"),
        ({"amount": "4Gi", "mountPath": "pages"}, "mountPath"),
        ({"amount": "4Gi", "size": "16Gi"}, "size"),
    ],
)
def test_amounts_and_places_that_cannot_be_are_refused(config: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Config.model_validate(config)
