"""A role whose workers have many pods: one LeaderWorkerSet, templates by position, and what stands beside."""

from typing import Any

import pytest
from small_stack import NOTHING, cluster, deployment, find, made, stack

from inferfleet.desired import desired
from inferfleet.desired.values import Desired, KubeObject
from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import InvalidDocuments
from inferfleet.plugins import contract
from inferfleet.plugins.contract import Companion, Edited, Plugin, PodTemplate, Ready, Request
from inferfleet.plugins.registry import builtin

SET, NAME = "LeaderWorkerSet", "east/ml/a-decode-l4"
GROUP = {"name": "LWS_GROUP_SIZE"}


def _engine(*args: str) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "engine", "image": "engine:1", "args": list(args)}]}}


def _workers(**more: Any) -> dict[str, Any]:
    """Two pods of four GPUs each, which have a node to themselves."""
    templates = {"entry": {"template": _engine("entry")}, "follower": {"template": _engine("follower")}}
    return {"topology": {"tensor": 4, "pipeline": 2}, **templates, **more}


def _documents(*plugins: dict[str, Any]) -> Documents:
    document = deployment("a", workers=_workers(), plugins=plugins)
    return stack(cluster("east"), document)


def _set(found: Desired) -> dict[str, Any]:
    return find(found, SET, NAME).manifest["spec"]["leaderWorkerTemplate"]  # type: ignore[no-any-return]


def _args(template: dict[str, Any]) -> Any:
    return template["spec"]["containers"][0]["args"]


def test_entries_and_followers_have_templates_of_their_own() -> None:
    group = _set(desired(_documents(), NOTHING))
    assert (group["size"], _args(group["leaderTemplate"]), _args(group["workerTemplate"])) == (
        2,
        ["entry"],
        ["follower"],
    )


def test_a_workload_is_waited_for_as_long_as_its_groups_may_roll() -> None:
    wanted = find(made(cluster("east"), deployment("a", workers=_workers())), SET, NAME)
    assert (wanted.timeout, wanted.watched) == (130 + 900 + 1800, True)


def test_what_is_not_awaited_is_not_listened_to() -> None:
    document = deployment("a", workers=_workers())
    applied = made(cluster("east"), document, **{"await": "applied"})
    assert not find(applied, SET, NAME).watched


@pytest.mark.parametrize(
    ("target", "changed"), [("Entry", (True, False)), ("Worker", (False, True)), ("All", (True, True))]
)
def test_a_plugin_acts_on_the_positions_in_its_scope(target: str, changed: tuple[bool, bool]) -> None:
    plugin = {"name": "group-env", "scope": {"target": target}}
    found = desired(_documents(plugin), NOTHING)
    group = _set(found)
    told = tuple(
        {"name": "GROUP_SIZE", "value": "$(LWS_GROUP_SIZE)"}
        in group[name]["spec"]["containers"][0].get("env", [])
        for name in ("leaderTemplate", "workerTemplate")
    )
    assert told == changed
    assert found.outputs["plugins"] == {NAME: ["group-env@1.0.0"]}


class _Config(contract.Config):
    """It has no fields."""


def _table(template: PodTemplate, request: Request, config: _Config) -> Edited:
    data = {"size": str(request.group_size)}
    return Edited(template, (_config_map(request, data),))


def _by_position(template: PodTemplate, request: Request, config: _Config) -> Edited:
    return Edited(template, (_config_map(request, {"position": request.position}),))


def _config_map(request: Request, data: dict[str, str]) -> Companion:
    name = request.companion_name("table")
    return Companion({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})


def _greet(ready: Ready, config: _Config) -> None: ...


def _with(edit: contract.Edit, documents: Documents) -> Desired:
    plugin = Plugin("table", _Config, edit, version="1.0.0", ready=_greet)
    return desired(documents, NOTHING, registry=builtin().with_(plugin))


def _made(found: Desired, kind: str) -> list[KubeObject]:
    return [made for part in found.clusters for made in part.objects if made.kind == kind]


def test_what_both_positions_add_is_one_object_and_a_hook_is_called_once() -> None:
    found = _with(_table, _documents({"name": "table"}))
    [table] = _made(found, "ConfigMap")[-1:]
    assert (table.name, table.manifest["data"]) == ("east/ml/a-decode-l4-table", {"size": "2"})
    hooks = [hook for part in found.clusters for made in part.components for hook in made.hooks]
    assert [(hook.name, hook.request.position) for hook in hooks] == [(f"{NAME}/table", "Entry")]


def test_a_hook_for_followers_alone_is_told_of_them() -> None:
    found = _with(_table, _documents({"name": "table", "scope": {"target": "Worker"}}))
    hooks = [hook for part in found.clusters for made in part.components for hook in made.hooks]
    assert [hook.request.position for hook in hooks] == ["Worker"]


def test_objects_of_one_name_that_differ_by_position_are_told() -> None:
    with pytest.raises(InvalidDocuments) as refused:
        _with(_by_position, _documents({"name": "table"}))
    assert [(problem.path, problem.what) for problem in refused.value.problems] == [
        (
            "spec.plugins[0]",
            "plugin table makes it otherwise for followers than for entries: the companion ConfigMap "
            "a-decode-l4-table clashes with another of that name; give one of the two a suffix, or let the "
            "plugin run once",
        )
    ]


LONG = "a-deployment-of-32-characters-xx"


def test_a_cut_name_stays_whole_in_the_state() -> None:
    document = deployment(LONG, workers=_workers())
    found = made(cluster("east", pools=("pool-of-20-character",)), document)
    [wanted] = _made(found, SET)
    assert wanted.name == f"east/ml/{LONG}-decode-pool-of-20-character"
    assert wanted.kubernetes_name == f"{LONG}-decode-37a200"


def _ingress(found: Desired) -> list[Any]:
    return list(find(found, "NetworkPolicy", "east/ml/a").manifest["spec"]["ingress"])


def test_pods_of_one_engine_are_let_in_to_each_other_where_policies_are_wanted() -> None:
    closed = {"gateway": {"className": "any"}, "networkPolicy": {"gatewayNamespace": "gw"}}
    nodes = cluster("east", serving=closed)
    one, many = (made(nodes, document) for document in (deployment("a"), deployment("a", workers=_workers())))
    selected = {"podSelector": {"matchLabels": {"inferfleet.dev/deployment": "a"}}}
    assert _ingress(many) == [*_ingress(one), {"from": [selected]}]


def test_another_role_is_reached_by_a_service_over_its_entries() -> None:
    workers = {"topology": {"tensor": 1}, "template": _engine()}
    document = deployment("a", roles={"encode": {"workers": workers, "engine": {"port": 9000}}})
    service = find(made(cluster("east"), document), "Service", "east/ml/a-encode").manifest
    assert service["metadata"]["annotations"] == {"pulumi.com/skipAwait": "true"}
    assert service["spec"] == {
        "selector": {
            "inferfleet.dev/deployment": "a",
            "inferfleet.dev/role": "encode",
            "inferfleet.dev/entry": "true",
        },
        "ports": [{"name": "http", "protocol": "TCP", "port": 9000, "targetPort": "http"}],
    }


def test_the_copies_of_a_role_are_spread_as_its_own_workers_say() -> None:
    many = {"topology": {"tensor": 1, "data": 4, "dataLocal": 2}, "balance": "Pod"}
    document = deployment("a", roles={"encode": {"workers": many, "engine": {"model": "m", "image": "e:1"}}})
    found = find(made(cluster("east"), document), SET, "east/ml/a-encode-l4").manifest["spec"]
    assert _args(found["leaderWorkerTemplate"]["workerTemplate"]) == [
        "m",
        "--port=8000",
        "--data-parallel-size=4",
        "--data-parallel-size-local=2",
        "--data-parallel-rpc-port=29550",
        "--data-parallel-hybrid-lb",
        "--nnodes=$(LWS_GROUP_SIZE)",
        "--node-rank=$(LWS_WORKER_INDEX)",
        "--master-addr=$(LWS_LEADER_ADDRESS)",
        "--master-port=29501",
        "--shutdown-timeout=90",
    ]
