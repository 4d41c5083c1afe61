"""A snapshot of a cluster becomes Envoy's configuration."""

from dataclasses import replace
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest
from gateway_objects import (
    PREFIX,
    gateway,
    meta,
    picker_of,
    pod,
    pool,
    route,
    rule,
    service,
    snapshot,
    to_pool,
    to_service,
)

from sandbox.cluster.objects import Object
from sandbox.gateway.backends import Backend, Picker, Unresolved, Upstream, backend
from sandbox.gateway.config import addresses, config
from sandbox.gateway.envoy import configuration
from sandbox.gateway.virtual_hosts import NOWHERE

TYPES = "type.googleapis.com/envoy"
PER_ROUTE = f"{TYPES}.extensions.filters.http.ext_proc.v3.ExtProcPerRoute"
NETWORK = IPv4Network("127.4.255.0/24")
ENGINES = (
    pod("qwen-a", {"model": "qwen"}, "127.4.0.1"),
    pod("qwen-b", {"model": "qwen"}, "127.4.0.2"),
    pod("qwen-c", {"model": "qwen"}, "127.4.0.3", ready=False),
)
QWEN = Backend(
    Upstream("pool.ml.qwen", ("127.4.0.1:8000", "127.4.0.2:8000")),
    Picker(Upstream("picker.ml.qwen", ("127.4.0.9:9002",)), tls=True, fail_open=False),
)


def hosts(*objects: Object) -> Any:
    """Names and clusters of the routes by virtual host, of the one Gateway's one port."""
    (proxy,) = config(snapshot(gateway(), *objects), NETWORK).proxies
    return {
        host["name"]: [
            (
                served["name"],
                [cluster["name"] for cluster in served["route"]["weighted_clusters"]["clusters"]],
            )
            for served in host["routes"]
        ]
        for host in proxy.hosts[8080]
    }


def test_a_route_to_a_pool_asks_its_picker_and_goes_where_it_says() -> None:
    rules = rule("/ml/qwen", to_pool("qwen"), filters=[PREFIX], timeouts={"request": "3600s"})
    decided = config(snapshot(gateway(), route("qwen", rules), pool(), *picker_of(), *ENGINES), NETWORK)
    (proxy,) = decided.proxies
    assert (proxy.address, proxy.backends) == ("127.4.255.1", (QWEN,))
    assert proxy.hosts == {
        8080: [
            {
                "name": "*",
                "domains": ["*"],
                "routes": [
                    {
                        "name": "ml/qwen/0",
                        "match": {"path_separated_prefix": "/ml/qwen"},
                        "route": {
                            "weighted_clusters": {
                                "clusters": [
                                    {
                                        "name": "pool.ml.qwen",
                                        "weight": 1,
                                        "typed_per_filter_config": {
                                            "envoy.filters.http.ext_proc": {
                                                "@type": f"{TYPES}.config.route.v3.FilterConfig",
                                                "config": {
                                                    "@type": PER_ROUTE,
                                                    "overrides": {
                                                        "grpc_service": {
                                                            "envoy_grpc": {"cluster_name": "picker.ml.qwen"}
                                                        },
                                                        "failure_mode_allow": False,
                                                    },
                                                },
                                            }
                                        },
                                    }
                                ]
                            },
                            "cluster_not_found_response_code": "INTERNAL_SERVER_ERROR",
                            "timeout": "3600s",
                            "retry_policy": {
                                "retry_on": "connect-failure,refused-stream,reset-before-request",
                                "num_retries": 1,
                            },
                            "regex_rewrite": {"pattern": {"regex": "^/ml/qwen/*"}, "substitution": "/"},
                        },
                    }
                ],
            }
        ]
    }


def test_files_are_few_and_in_the_order_in_which_they_refer_to_each_other() -> None:
    made = configuration(Path("/f"), "127.4.255.1", hosts={8080: []}, backends=[QWEN])
    assert list(made.files) == ["cds.json", "rds.8080.json", "lds.json"]


def test_endpoints_have_the_names_by_which_clusters_ask_and_others_when_a_cluster_changes() -> None:
    def asked(backend: Backend) -> dict[str, str]:
        made = configuration(Path("/f"), "127.4.255.1", hosts={}, backends=[backend])
        names = {
            cluster["name"]: cluster["eds_cluster_config"]["service_name"]
            for cluster in made.files["cds.json"]["resources"]
        }
        found = {name: made.endpoints[asked_for] for name, asked_for in names.items()}
        assert found == {
            upstream.name: upstream.endpoints
            for upstream in (backend.upstream, *((backend.picker.upstream,) if backend.picker else ()))
        }
        return names

    before = asked(QWEN)
    fewer = replace(QWEN, upstream=replace(QWEN.upstream, endpoints=("127.4.0.1:8000",)))
    assert asked(fewer) == before
    without_picker = asked(replace(QWEN, picker=None))
    assert without_picker["pool.ml.qwen"] != before["pool.ml.qwen"]
    assert QWEN.picker is not None
    without_tls = asked(replace(QWEN, picker=replace(QWEN.picker, tls=False)))
    assert without_tls["picker.ml.qwen"] != before["picker.ml.qwen"]
    assert without_tls["pool.ml.qwen"] == before["pool.ml.qwen"]


@pytest.mark.parametrize(
    ("args", "tls"),
    [
        ((), True),
        (("--secure-serving",), True),
        (("--secure-serving=true", "--tracing=false"), True),
        (("--tracing=false", "--secure-serving=false"), False),
        (("-secure-serving=0",), False),
    ],
)
def test_a_picker_serves_tls_unless_its_arguments_say_otherwise(args: tuple[str, ...], tls: bool) -> None:
    resolved = backend(to_pool("qwen"), namespace="ml", snapshot=snapshot(pool(), *picker_of(args=args)))
    assert isinstance(resolved, Backend)
    assert resolved.picker == Picker(
        Upstream("picker.ml.qwen", ("127.4.0.9:9002",)), tls=tls, fail_open=False
    )


def test_a_services_pods_are_found_by_its_selector_and_the_name_of_its_port() -> None:
    there = snapshot(service("web", {"model": "qwen"}, target="http"), *ENGINES)
    assert backend(to_service("web"), namespace="ml", snapshot=there) == Backend(
        Upstream("service.ml.web.80", ("127.4.0.1:8000", "127.4.0.2:8000"))
    )


def test_pods_that_are_going_get_no_requests() -> None:
    going = ENGINES[0] | {"metadata": ENGINES[0]["metadata"] | {"deletionTimestamp": "2026-01-01"}}
    there = snapshot(service("web", {"model": "qwen"}, target=8000), going, ENGINES[1])
    resolved = backend(to_service("web"), namespace="ml", snapshot=there)
    assert resolved == Backend(Upstream("service.ml.web.80", ("127.4.0.2:8000",)))


@pytest.mark.parametrize(
    ("ref", "there", "reason", "message"),
    [
        (to_pool("gone"), (), "BackendNotFound", "there is no InferencePool ml/gone"),
        (
            to_pool("qwen"),
            (pool(),),
            "BackendNotFound",
            "InferencePool ml/qwen has no picker: there is no Service ml/qwen-epp",
        ),
        (
            to_pool("qwen"),
            (pool(port=9999), *picker_of()),
            "BackendNotFound",
            "InferencePool ml/qwen has no picker: Service ml/qwen-epp has no port 9999 (it has: 9002)",
        ),
        (
            to_service("web"),
            (service("web", {"model": "qwen"}, target=8001), *ENGINES),
            "BackendNotFound",
            "Service ml/web leads to port 8001 of its pods, whose containers have: 8000",
        ),
        (to_service("web"), (), "BackendNotFound", "there is no Service ml/web"),
        (
            to_pool("qwen", namespace="other"),
            (pool(),),
            "RefNotPermitted",
            "InferencePool other/qwen is in another namespace, which needs a ReferenceGrant: "
            "the sandbox does not read those",
        ),
        (
            {"group": "x.io", "kind": "Thing", "name": "t"},
            (),
            "InvalidKind",
            "Thing t of group 'x.io' is no Service or InferencePool",
        ),
    ],
)
def test_what_is_missing_is_named(ref: Object, there: tuple[Object, ...], reason: str, message: str) -> None:
    assert backend(ref, namespace="ml", snapshot=snapshot(*there)) == Unresolved(reason, message)


def test_a_share_that_leads_nowhere_stays_a_share() -> None:
    rules = rule("/x", to_service("gone", weight=3), to_service("web", weight=1), to_service("off", weight=0))
    there = (service("web", {"model": "qwen"}, target=8000), *ENGINES)
    assert hosts(route("r", rules), *there) == {"*": [("ml/r/0", [NOWHERE, "service.ml.web.80"])]}


def test_older_routes_win_ties_and_narrower_host_names_win_over_paths() -> None:
    web = (service("web", {"model": "qwen"}, target=8000), *ENGINES)
    young = route("a-young", rule("/x", to_service("web")), created="2026-03-01")
    old = route("b-old", rule("/x", to_service("web")), created="2026-01-01")
    named = route("named", rule("/", to_service("web")), hostnames=["a.example.com"])
    wild = route("wild", rule("/y", to_service("web")), hostnames=["*.example.com"])
    target = ["service.ml.web.80"]
    everywhere = [("ml/b-old/0", target), ("ml/a-young/0", target)]
    assert hosts(young, old, named, wild, *web) == {
        "*": everywhere,
        "*.example.com": [("ml/wild/0", target), *everywhere],
        "a.example.com": [("ml/named/0", target), ("ml/wild/0", target), *everywhere],
    }


def test_gateways_of_other_classes_and_routes_of_other_parents_are_left_alone() -> None:
    theirs = gateway("theirs")
    theirs["spec"]["gatewayClassName"] = "theirs"
    other = route("r", parentRefs=[{"name": "theirs", "namespace": "infra"}])
    decided = config(snapshot(theirs, other), NETWORK)
    assert (decided.proxies, decided.routes) == ((), ())


def test_a_gateway_keeps_its_address_and_new_ones_get_free_ones() -> None:
    def with_address(name: str, address: str | None) -> Object:
        status = {"addresses": [{"type": "IPAddress", "value": address}]} if address else {}
        return gateway(name, status=status) | {"metadata": meta(name, "infra")}

    tiny = IPv4Network("127.4.255.0/30")
    gateways = [
        with_address("new", None),
        with_address("foreign", "10.0.0.1"),
        with_address("kept", "127.4.255.1"),
        with_address("late", None),
    ]
    assert addresses(gateways, tiny) == {
        "infra/kept": "127.4.255.1",
        "infra/new": "127.4.255.2",
    }
