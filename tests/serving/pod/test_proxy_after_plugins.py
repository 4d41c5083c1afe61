"""What plugins must leave of the routing proxy of a decode pod."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from apart import apart, stand

from inferfleet.documents.problems import Mistake
from inferfleet.serving.pod.check import template_check
from inferfleet.serving.pod.template import pod_template


def _without(spec: dict[str, Any]) -> None:
    del spec["initContainers"]


def _started_first(spec: dict[str, Any]) -> None:
    del spec["initContainers"][0]["restartPolicy"]


def _elsewhere(spec: dict[str, Any]) -> None:
    spec["initContainers"][0]["args"] += ["--port", "9000"]


def _other_engine(spec: dict[str, Any]) -> None:
    spec["initContainers"][0]["args"].remove("--model-server-port=8200")


LEAVE = "Leave it as it is; spec.prefill.proxy has image, port, resources and flags of the proxy"


@pytest.mark.parametrize(
    ("edit", "mistake"),
    [
        (
            _without,
            Mistake(
                "the pod has no init container routing-proxy, but inferfleet adds the routing proxy to "
                "decode pods, and requests come in there",
                LEAVE,
                ("spec.initContainers",),
            ),
        ),
        (
            _started_first,
            Mistake(
                "without restartPolicy: Always routing-proxy has to end before the engine starts",
                LEAVE,
                ("spec.initContainers[routing-proxy].restartPolicy",),
            ),
        ),
        (
            _elsewhere,
            Mistake(
                "routing-proxy has --port 9000, and by the documents it is 8000",
                LEAVE,
                ("spec.initContainers[routing-proxy].args",),
            ),
        ),
        (
            _other_engine,
            Mistake(
                "routing-proxy has no --model-server-port, and by the documents it is 8200",
                LEAVE,
                ("spec.initContainers[routing-proxy].args",),
            ),
        ),
    ],
)
def test_plugins_leave_the_proxy_where_requests_come_in(
    edit: Callable[[dict[str, Any]], None], mistake: Mistake
) -> None:
    where = stand(apart())
    template = copy.deepcopy(pod_template(where))
    edit(template["spec"])
    assert list(template_check(where)(template)) == [mistake]


def test_plugins_may_add_to_the_proxy() -> None:
    where = stand(apart())
    template = pod_template(where)
    proxy = template["spec"]["initContainers"][0]
    proxy["args"].append("--zap-log-level=debug")
    proxy["env"].append({"name": "TZ", "value": "UTC"})
    assert list(template_check(where)(template)) == []
