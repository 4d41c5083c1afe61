"""What plugins ask for is planned: pods are placed by the templates that passed the chain."""

from typing import Any

import pytest
from small_stack import L4, NOTHING, Document, cluster, deployment, lock, stack

from inferfleet.desired import desired
from inferfleet.desired.demands import edited_demands
from inferfleet.desired.pods import chains
from inferfleet.desired.values import Desired
from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import InvalidDocuments
from inferfleet.fleet.decisions import Reason, Unplaced
from inferfleet.fleet.demands import Demand, Share
from inferfleet.fleet.placement.ledger import nodes_used
from inferfleet.fleet.shapes import Pod
from inferfleet.fleet.spot import Spot
from inferfleet.plugins.api import (
    Config,
    Plugin,
    PluginError,
    PodTemplate,
    Request,
    engine,
    mapping,
    put_container,
    put_init_container,
)
from inferfleet.plugins.registry import builtin

GIB = 2**30


class Sidecar(Config):
    memory: str = "4Ti"
    init: bool = False


RUNS: list[str] = []


def _tokenizer(template: PodTemplate, request: Request, config: Sidecar) -> PodTemplate:
    """Run a tokenizer beside the engine."""
    RUNS.append(f"{request.deployment.name} {request.cluster.name}/{request.pool.name}")
    resources = {"requests": {"memory": config.memory}}
    container = {"name": "tokenizer", "image": "tokenizer:1", "resources": resources}
    (put_init_container if config.init else put_container)(template, container)
    return template


def _by_cluster(template: PodTemplate, request: Request, config: Sidecar) -> PodTemplate:
    """Give the engine more memory on west."""
    memory = config.memory if request.cluster.name == "west" else "8Gi"
    mapping(engine(template), "resources", "requests")["memory"] = memory
    return template


REGISTRY = builtin().with_(
    Plugin("tokenizer", Sidecar, _tokenizer, version="1.0.0"),
    Plugin("by-cluster", Sidecar, _by_cluster, version="1.0.0"),
)


def _link(name: str, **config: Any) -> dict[str, Any]:
    return {"name": name, "config": config}


def _desired(*documents: Document, **settings: Any) -> Desired:
    return desired(stack(*documents, **settings), NOTHING, registry=REGISTRY)


def _placed(result: Desired) -> dict[str, int]:
    return {str(placement.spot): placement.replicas for placement in result.plan.placements}


def test_a_sidecar_that_fits_nowhere_leaves_replicas_without_a_place_and_names_the_plugin() -> None:
    found = _desired(cluster("east"), deployment("a", 2, plugins=[_link("tokenizer")]))
    why = "has 160Gi of memory per node, needs 4096Gi (4096Gi of it by plugin tokenizer)"
    assert found.plan.unplaced == (Unplaced("ml/a", 2, (Reason("east", "l4", why),)),)


def test_a_sidecar_changes_how_many_replicas_a_node_holds_and_how_many_nodes_they_need() -> None:
    written = {"engine": {"resources": {"requests": {"memory": "30Gi"}}}}
    alone, beside = (
        _desired(cluster("east"), deployment("a", 8, plugins=plugins, **written))
        for plugins in ([], [_link("tokenizer", memory="50Gi")])
    )
    assert [_placed(result) for result in (alone, beside)] == [
        {"ml/a east decode=l4": 8},
        {"ml/a east decode=l4": 4},
    ]
    (missing,) = beside.plan.unplaced
    assert missing.reasons[0].why == (
        "2 of 2 nodes full: 0Gi of free memory beside enough GPUs, needs 80Gi "
        "(50Gi of it by plugin tokenizer)"
    )
    documents = stack(cluster("east"), deployment("a", 8, **written))
    four = {Spot("ml/a", "east", (("decode", "l4"),)): 4}
    assert [nodes_used(documents, four, result.plan.demands)["east", "l4"] for result in (alone, beside)] == [
        1,
        2,
    ]


def test_the_demand_names_what_each_plugin_asks_for() -> None:
    links = [_link("tokenizer", memory="50Gi"), _link("by-cluster")]
    needs = _desired(cluster("east"), deployment("a", plugins=links)).plan.demands
    shares = (Share("tokenizer", Pod(0, 0, 50 * GIB)), Share("by-cluster", Pod(0, 0, 8 * GIB)))
    assert {share.plugin: share for share in needs.edited["ml/a", "decode"]["east", "l4"].shares} == {
        share.plugin: share for share in shares
    }
    assert needs.of("ml/a", "decode", ("east", "l4")).pod == Pod(1, 0, 58 * GIB)


def test_an_init_container_counts_only_for_what_it_needs_beyond_the_running_ones() -> None:
    links = [_link("tokenizer", memory="50Gi", init=True)]
    written = {"engine": {"resources": {"requests": {"memory": "30Gi"}}}}
    needs = _desired(cluster("east"), deployment("a", plugins=links, **written)).plan.demands
    assert needs.of("ml/a", "decode", ("east", "l4")) == Demand(
        Pod(1, 0, 50 * GIB), 1, 0, (Share("tokenizer", Pod(0, 0, 20 * GIB)),)
    )


def _error(documents: Documents) -> list[str]:
    with pytest.raises(InvalidDocuments) as raised:
        desired(documents, NOTHING, registry=REGISTRY)
    return [f"{problem.kind} {problem.key} {problem.path}: {problem}" for problem in raised.value.problems]


def test_a_plugin_that_asks_for_more_on_one_cluster_than_was_planned_is_an_error() -> None:
    links = [_link("by-cluster", memory="64Gi")]
    documents = stack(cluster("east"), cluster("west"), deployment("a", 2, plugins=links))
    assert _error(documents) == [
        "ModelDeployment ml/a spec.plugins[0]: spec.plugins[0]: plugin by-cluster makes "
        "spec.containers[engine].resources.requests.memory of pods of ml/a 64Gi on west/l4, and 8Gi on "
        "east/l4, by which the plan counted; both are of class l4. Let what pods ask for follow from the "
        "deployment and its class; or name the plugin in the chains of the clusters, which are planned one "
        "by one"
    ]


def test_where_clusters_have_chains_of_their_own_each_is_planned_by_itself() -> None:
    link = [_link("by-cluster", memory="64Gi")]
    found = _desired(cluster("east", plugins=link), cluster("west", plugins=link), deployment("a", 2))
    assert {
        pool: needs.pod.memory // GIB for pool, needs in found.plan.demands.edited["ml/a", "decode"].items()
    } == {
        ("east", "l4"): 8,
        ("west", "l4"): 64,
    }


def test_a_chain_runs_once_for_pods_that_are_alike_and_not_again_where_they_are_placed() -> None:
    documents = stack(
        cluster("east"),
        cluster("west"),
        deployment("a", plugins=[_link("tokenizer", memory="1Gi")]),
        deployment("b"),
    )
    RUNS.clear()
    desired(documents, NOTHING, registry=REGISTRY)
    # Each run of a chain tries a plugin three times: on its input twice, and on its own output.
    assert RUNS == ["a east/l4"] * 3


def test_pods_that_the_lock_has_are_those_that_are_worked_out() -> None:
    documents = stack(
        cluster("east"), cluster("west"), deployment("a", plugins=[_link("tokenizer", memory="1Gi")])
    )
    RUNS.clear()
    desired(documents, lock({"a west/l4": 1}), registry=REGISTRY)
    assert RUNS == ["a west/l4"] * 3


def test_no_chain_runs_where_no_link_acts_on_the_pods() -> None:
    out_of_scope = _link("tokenizer") | {"scope": {"target": "Worker"}}
    documents = stack(cluster("east"), deployment("a", plugins=[out_of_scope]), deployment("b"))
    worked = edited_demands(documents, NOTHING, chains(documents, REGISTRY))
    assert (worked.pods, worked.example, worked.demands.edited) == ({}, {}, {})


def test_no_chain_runs_for_hardware_that_the_deployment_does_not_select() -> None:
    selector = {"nodeSelector": {"cel": 'device.driver == "gpu.amd.com"'}}
    labelled = {"clusterSelector": {"matchLabels": {"tier": "prod"}}}
    documents = stack(
        cluster("east"),
        *(
            deployment(name, plugins=[_link("tokenizer")], **spec)
            for name, spec in (("a", selector), ("b", labelled))
        ),
    )
    assert edited_demands(documents, NOTHING, chains(documents, REGISTRY)).pods == {}


def test_huge_pages_are_a_resource_of_nodes_that_a_class_has_or_has_not() -> None:
    pages = {"resources": {"limits": {"hugepages-2Mi": "3Gi", "memory": "1Gi"}}}
    documents = stack(cluster("east"), deployment("a", 4, engine=pages))
    node = L4.spec.node.model_dump(by_alias=True)
    with_pages = L4.model_validate(
        L4.model_dump(by_alias=True, exclude_none=True)
        | {
            "spec": L4.spec.model_dump(by_alias=True, exclude_none=True, exclude={"devices"})
            | {"node": node | {"hugepages": {"2Mi": "4Gi"}}}
        }
    )
    found = [
        desired(Documents(documents.settings, {"l4": l4}, documents.clusters, documents.deployments), NOTHING)
        for l4 in (L4, with_pages)
    ]
    assert [(_placed(result), result.plan.unplaced[0].reasons[0].why) for result in found] == [
        ({}, "has no 2Mi huge pages, needs 3Gi"),
        (
            {"ml/a east decode=l4": 2},
            "2 of 2 nodes full: 1Gi of free 2Mi huge pages beside enough GPUs, needs 3Gi",
        ),
    ]


def _fails(template: PodTemplate, request: Request, config: Config) -> PodTemplate:
    """Fail on every pod."""
    raise PluginError("the licence is missing; give one")


FAILS = builtin().with_(Plugin("fails", Config, _fails, version="1.0.0"))


@pytest.mark.parametrize("placed", [(), ("b",), ("b", "c")])
def test_a_link_that_fails_on_replicas_without_a_place_is_told_once(placed: tuple[str, ...]) -> None:
    others = [deployment(name) for name in placed]
    documents = stack(
        cluster("east", pools=("l4", "l4-2")),
        deployment("a", engine={"resources": {"requests": {"cpu": "90"}}}),  # no node has so many
        *others,
        plugins=[{"name": "fails"}],
    )
    with pytest.raises(InvalidDocuments) as raised:
        desired(documents, NOTHING, registry=FAILS)
    first = "b" if placed else "a"
    more = f", and {len(placed)} more" if placed else ""
    assert [(problem.path, problem.what) for problem in raised.value.problems] == [
        (
            "plugins[0]",
            f"plugin fails: the licence is missing (deployment ml/{first}, role decode on east/l4{more})",
        )
    ]


def test_links_of_a_deployment_that_no_pool_suits_are_not_run() -> None:
    nowhere = {"clusterSelector": {"matchLabels": {"region": "mars"}}}
    documents = stack(cluster("east"), deployment("a", **nowhere), plugins=[{"name": "fails"}])
    with pytest.raises(InvalidDocuments) as raised:
        desired(documents, NOTHING, registry=FAILS)
    assert [problem.path for problem in raised.value.problems] == ["spec.clusterSelector"]
