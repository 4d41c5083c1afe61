"""json-patch shown on whole pods, operation by operation, and what runs once only."""

import copy
from typing import Any

import pytest
from pydantic import ValidationError
from running import ran

from inferfleet.documents.kinds.base import PluginSpec
from inferfleet.plugins.api import Edited, Mistaken, Request
from inferfleet.plugins.builtin.json_patch import Config, edit
from inferfleet.plugins.link import Link
from inferfleet.plugins.registry import builtin


def patch(*operations: dict[str, Any]) -> Config:
    return Config.model_validate({"operations": operations})


def op(op: str, path: str, **more: Any) -> dict[str, Any]:
    return {"op": op, "path": path, **more}


SPOT = {"key": "spot", "operator": "Exists"}


def test_all_operations_at_once(generated: dict[str, Any], pod_request: Request) -> None:
    expected = copy.deepcopy(generated)
    spec = expected["spec"]
    spec["tolerations"] += [SPOT]
    spec["priorityClassName"] = "serving"
    spec["containers"][0]["env"] = [{"name": "FIRST", "value": "1"}]
    spec["containers"][1]["image"] = "vllm:2"
    spec["containers"][1]["workingDir"] = "vllm:2"
    expected["metadata"]["labels"]["example.com/kind"] = expected["metadata"]["labels"].pop("family")
    config = patch(
        op("test", "/spec/containers/name=engine/ports/0/containerPort", value=8000),
        op("add", "/spec/tolerations/-", value=SPOT),
        op("add", "/spec/priorityClassName", value="serving"),
        op("add", "/spec/containers/name=logs/env/0", value={"name": "FIRST", "value": "1"}),
        op("remove", "/spec/containers/name=logs/env/name=LEVEL"),
        op("replace", "/spec/containers/1/image", value="vllm:2"),
        op("copy", "/spec/containers/1/workingDir", **{"from": "/spec/containers/1/image"}),
        op("move", "/metadata/labels/example.com~1kind", **{"from": "/metadata/labels/family"}),
    )
    assert edit(generated, pod_request, config) == Edited(expected)
    again = edit(copy.deepcopy(expected), pod_request, config)
    assert again.template == expected
    assert again.remarks == (
        "operation 4 (remove /spec/containers/name=logs/env/name=LEVEL): nothing is there, so nothing was "
        "removed",
        "operation 7 (move /metadata/labels/example.com~1kind): nothing is at /metadata/labels/family any "
        "more, so nothing was moved",
    )


def test_an_entry_that_a_list_has_is_not_added_again(generated: dict[str, Any], pod_request: Request) -> None:
    [toleration] = generated["spec"]["tolerations"]
    before = copy.deepcopy(generated)
    config = patch(
        op("add", "/spec/tolerations/-", value=toleration), op("add", "/spec/tolerations/0", value=toleration)
    )
    assert edit(generated, pod_request, config) == Edited(before)


def test_an_entry_is_added_or_replaced_by_its_key(generated: dict[str, Any], pod_request: Request) -> None:
    config = patch(
        op("add", "/spec/containers/name=engine/env/name=HF_HOME", value={"name": "HF_HOME", "value": "/a"}),
        op("add", "/spec/containers/name=engine/env/name=NEW", value={"name": "NEW", "value": "/b"}),
    )
    edited = edit(generated, pod_request, config)
    assert edited.template["spec"]["containers"][1]["env"] == [
        {"name": "HF_HOME", "value": "/a"},
        {"name": "LAST", "value": "$(HF_HOME)"},
        {"name": "NEW", "value": "/b"},
    ]


def test_a_list_or_map_that_is_not_there_is_made(generated: dict[str, Any], pod_request: Request) -> None:
    config = patch(
        op("add", "/spec/imagePullSecrets/-", value={"name": "registry"}),
        op("add", "/metadata/annotations/team", value="chat"),
    )
    edited = edit(generated, pod_request, config).template
    assert edited["spec"]["imagePullSecrets"] == [{"name": "registry"}]
    assert edited["metadata"]["annotations"] == {"team": "chat"}


def test_every_operation_that_fails_is_told_with_number_and_path_and_without_values(
    generated: dict[str, Any], pod_request: Request
) -> None:
    generated["spec"]["containers"][1]["env"][0]["value"] = "hidden"
    config = patch(
        op("test", "/spec/containers/1/env/0/value", value="shown"),
        op("replace", "/spec/priority", value=1),
        op("add", "/spec/dnsConfig/nameservers/-", value="10.0.0.1"),
        op("add", "/spec/tolerations/5", value=SPOT),
        op("add", "/spec/containers/engine/image", value="x"),
        op("add", "/spec/containers/0/image/x", value="x"),
        op("copy", "/spec/hostname", **{"from": "/spec/subdomain"}),
        op("move", "/spec/hostname", **{"from": "/spec/containers/name=none/image"}),
        op("copy", "/spec/hostname", **{"from": "/spec/containers/name=none"}),
        op("add", "/spec/containers/01/image", value="x"),
        op("test", "/spec/tolerations/00", value=SPOT),
    )
    with pytest.raises(Mistaken) as raised:
        edit(generated, pod_request, config)
    named = "Name one that is there, entries of lists by an index or a key, such as name=engine"
    assert [(mistake.what, mistake.next_step) for mistake in raised.value.mistakes] == [
        (
            "operation 0 (test /spec/containers/1/env/0/value): the template has another value there",
            "Change the value, or what makes the template otherwise",
        ),
        ("operation 1 (replace /spec/priority): the template has no such place", named),
        ("operation 2 (add /spec/dnsConfig/nameservers/-): the template has no such place", named),
        ("operation 3 (add /spec/tolerations/5): the template has no such place", named),
        ("operation 4 (add /spec/containers/engine/image): the template has no such place", named),
        ("operation 5 (add /spec/containers/0/image/x): the template has no such place", named),
        ("operation 6 (copy /spec/hostname): the template has no such place, or no /spec/subdomain", named),
        (
            "operation 7 (move /spec/hostname): the template has no such place, or no "
            "/spec/containers/name=none/image",
            named,
        ),
        (
            "operation 8 (copy /spec/hostname): the template has no such place, or no "
            "/spec/containers/name=none",
            named,
        ),
        ("operation 9 (add /spec/containers/01/image): the template has no such place", named),
        (
            "operation 10 (test /spec/tolerations/00): the template has another value there",
            "Change the value, or what makes the template otherwise",
        ),
    ]


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        (
            op("remove", "/spec/tolerations/0"),
            "remove takes '0' out of a list, behind which another entry is",
        ),
        (op("move", "/spec/x", **{"from": "/spec/tolerations/0"}), "move takes '0' out of a list"),
        (op("move", "/spec/a/b", **{"from": "/spec/a"}), "/spec/a cannot move into itself"),
        (op("add", "/spec/x"), "add needs a value"),
        (op("remove", "/spec/x", value=1), "remove takes no value"),
        (op("copy", "/spec/x"), "copy needs a from"),
        (op("add", "/spec/x", value=None), "value null, which Kubernetes takes for absent"),
        (op("add", "/status", value=1), "must be a JSON Pointer below /metadata or /spec"),
        (op("add", "/spec/a~2", value=1), "must be a JSON Pointer"),
        (op("merge", "/spec/x", value=1), "Input should be 'add'"),
    ],
)
def test_an_operation_that_says_too_much_or_too_little_is_refused(
    operation: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValidationError, match=said):
        patch(operation)


@pytest.mark.parametrize(
    "operations",
    [
        [
            op("test", "/spec/nodeSelector/zone", value="a"),
            op("replace", "/spec/nodeSelector/zone", value="b"),
        ],
        [
            op("copy", "/spec/hostname", **{"from": "/spec/subdomain"}),
            op("replace", "/spec/subdomain", value="other"),
        ],
    ],
)
def test_a_patch_that_does_not_hold_for_its_own_output_is_refused(
    generated: dict[str, Any], pod_request: Request, operations: list[dict[str, Any]]
) -> None:
    generated["spec"]["nodeSelector"]["zone"] = "a"
    generated["spec"]["subdomain"] = "first"
    spec = PluginSpec(name="json-patch", config={"operations": operations})
    _, problems = ran(
        generated, pod_request, [Link(spec, "deployment", "ModelDeployment", "ml/web")], builtin()
    )
    assert "is not idempotent: run on its own output, it" in problems[0].what


def test_values_of_the_config_are_not_shared_with_the_template(
    generated: dict[str, Any], pod_request: Request
) -> None:
    config = patch(op("add", "/spec/tolerations/-", value=dict(SPOT)))
    edit(generated, pod_request, config).template["spec"]["tolerations"][1]["key"] = "changed"
    assert config.operations[0].value == SPOT
