"""`inferfleet chat`: who is asked, by which way, and what is said where there is no answer."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from fake_cluster import FakeCluster, kubeconfig, thing
from small_project import Project

Start = Callable[..., FakeCluster]
KEY = "sk-not-for-logs"
POD = "/api/v1/namespaces/ml/pods/qwen-decode-l4-a:8000/proxy/v1"
PREFIX = "/ml/chat/v1"
LABELS = {"inferfleet.dev/deployment": "qwen", "inferfleet.dev/serves": "true"}
READY = {"conditions": [{"type": "Ready", "status": "True"}]}
CHAT_ROUTE, QWEN_ROUTE = thing("HTTPRoute", "chat-svc", "ml"), thing("HTTPRoute", "qwen", "ml")


def pod(name: str = "qwen-decode-l4-a", **more: Any) -> dict[str, Any]:
    return thing("Pod", name, "ml", **{"labels": LABELS, "status": READY, **more})


def gateway(host: str, port: int = 80) -> dict[str, Any]:
    return thing(
        "Gateway",
        "inferfleet",
        "inferfleet-system",
        spec={"listeners": [{"protocol": "HTTP", "port": port}]},
        status={"addresses": [{"value": host}]},
    )


def engine(at: str, text: str = "Hello.") -> dict[str, tuple[int, Any]]:
    completion = {"model": "qwen3", "choices": [{"message": {"content": text}}]}
    return {
        f"{at}/models": (200, {"data": [{"id": "qwen3"}]}),
        f"{at}/chat/completions": (200, completion),
    }


@pytest.fixture
def reached(project: Project, cluster: Start, tmp_path_factory: pytest.TempPathFactory) -> FakeCluster:
    """The cluster `east` of the small project, with all that is deployed, and one ready pod."""
    fake = cluster(objects=[CHAT_ROUTE, QWEN_ROUTE, pod()], behind=engine(POD))
    point(project, fake, tmp_path_factory.mktemp("kubeconfigs") / "east")
    return fake


def point(project: Project, fake: FakeCluster, file: Path) -> None:
    file.write_text(yaml.safe_dump(kubeconfig(fake.address)))
    project.edit("stacks/prod/clusters.yaml", "path: east.kubeconfig", f"path: {file}")


def at(fake: FakeCluster) -> tuple[str, int]:
    host, port = fake.server.server_address[:2]
    return str(host), int(port)


def test_without_a_gateway_that_is_reached_a_ready_pod_is_asked_and_that_is_said(
    project: Project, reached: FakeCluster
) -> None:
    reached.objects += [pod("qwen-decode-l4-0", status={}), gateway("10.9.9.9.invalid")]
    ran = project.run("chat", "chat", "Say hello.")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "Hello.\nmodel qwen3, cluster east, asked pod ml/qwen-decode-l4-a, by the API server, past gateway "
        "and picker\n"
    )
    asked = {"model": "qwen3", "messages": [{"role": "user", "content": "Say hello."}]}
    assert reached.posted == [(f"{POD}/chat/completions", asked)]


def test_a_gateway_that_takes_connections_is_asked_with_the_prefix_of_the_route(
    project: Project, reached: FakeCluster, cluster: Start
) -> None:
    front = cluster(behind=engine(PREFIX, "Through the gateway."))
    reached.objects.append(gateway(*at(front)))
    ran = project.run("chat", "--json")
    assert (ran.code, ran.json["answer"]) == (
        0,
        {
            "text": "Through the gateway.",
            "model": "qwen3",
            "by": "the gateway at {}:{}".format(*at(front)),
            "cluster": "east",
            "service": "ml/chat",
        },
    )
    assert reached.posted == []


def test_who_waits_for_weights_says_how_far_they_are(project: Project, reached: FakeCluster) -> None:
    gate = {"name": "wait-for-weights", "state": {"running": {}}}
    reached.objects = [CHAT_ROUTE, QWEN_ROUTE, pod(status={"initContainerStatuses": [gate]})]
    reached.behind = {"/api/v1/namespaces/ml/pods/qwen-decode-l4-a/log": (200, "62 %, about 18 minutes")}
    ran = project.run("chat")
    assert ran.code != 0
    assert "Pods of it wait for their weights" in ran.err
    assert "62 %, about 18 minutes" in ran.err


def test_a_gateway_that_is_a_service_of_the_cluster_is_asked_through_the_api_server(
    project: Project, reached: FakeCluster
) -> None:
    reached.objects.append(gateway("inferfleet-istio.inferfleet-system.svc.cluster.local", 8080))
    service = "/api/v1/namespaces/inferfleet-system/services/inferfleet-istio:8080/proxy"
    reached.behind = engine(f"{service}{PREFIX}")
    ran = project.run("chat")
    assert ran.out.endswith("by the API server and Service inferfleet-system/inferfleet-istio\n")


def test_a_key_is_sent_to_the_gateway_alone_and_only_where_somebody_says_so(
    project: Project, reached: FakeCluster, cluster: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INFERFLEET_API_KEY", KEY)
    front = cluster(behind=engine(PREFIX))
    reached.objects.append(gateway(*at(front)))
    assert project.run("chat").code == 0
    assert front.credentials == {None}
    told = project.run("chat", "--via", "gateway")
    assert front.credentials == {None, f"Bearer {KEY}"}
    assert KEY not in told.out + told.err
    assert project.run("chat", "--via", "api-server").code == 0
    assert reached.credentials == {None}


@pytest.mark.parametrize(
    ("hostnames", "host"),
    [("[chat.example.com]", "chat.example.com"), ('["*.example.com"]', "any.example.com")],
)
def test_a_route_by_host_and_header_is_asked_with_them_at_the_root(
    project: Project, reached: FakeCluster, cluster: Start, hostnames: str, host: str
) -> None:
    project.edit(
        "stacks/prod/models.yaml",
        "spec: {endpoints",
        f"spec: {{route: {{path: /, hostnames: {hostnames}, headers: {{x-team: blue}}}}, endpoints",
    )
    front = cluster(behind=engine("/v1"))
    reached.objects.append(gateway(*at(front)))
    assert project.run("chat").code == 0
    assert {(headers["Host"], headers["x-team"]) for headers in front.headers} == {(host, "blue")}


def test_what_a_gateway_answers_instead_is_told_in_its_words(
    project: Project, reached: FakeCluster, cluster: Start
) -> None:
    front = cluster(behind={f"{PREFIX}/models": (503, {"error": "no healthy upstream"})})
    reached.objects.append(gateway(*at(front)))
    ran = project.run("chat")
    host, port = at(front)
    assert ran.code == 5
    assert ran.err.startswith(
        f"the gateway at {host}:{port} answers 503 for service ml/chat on cluster east: no healthy upstream. "
        "`inferfleet status` says which"
    )
    front.behind = {f"{PREFIX}/models": (404, "no route")}
    assert "where the address is private, something else of this network has it: --via api-server" in (
        project.run("chat").err
    )
    missing = {"error": {"message": "The model `nope` does not exist.", "code": 404}}
    front.behind = engine(PREFIX) | {f"{PREFIX}/chat/completions": (404, missing)}
    assert "The model `nope` does not exist. Name a model that the engine serves: --model" in (
        project.run("chat", "--model", "nope").err
    )


def test_a_gateway_without_an_address_is_told_where_it_must_be_the_gateway(
    project: Project, reached: FakeCluster
) -> None:
    ran = project.run("chat", "--via", "gateway")
    assert ran.code == 5
    assert ran.err.startswith(
        "service ml/chat on cluster east cannot be asked through its gateway: the gateway of cluster east "
        "has no address yet. Ask from inside of its network, or through the API server: --via api-server"
    )


def test_an_api_server_that_refuses_names_the_rights(project: Project, reached: FakeCluster) -> None:
    denied = {
        "kind": "Status",
        "apiVersion": "v1",
        "message": 'pods "qwen-decode-l4-a" is forbidden: User "u" cannot get resource "pods/proxy"',
    }
    reached.behind = {f"{POD}/models": (403, denied)}
    ran = project.run("chat")
    assert ran.code == 5
    assert 'answers 403 for service ml/chat on cluster east: pods "qwen-decode-l4-a" is forbidden' in ran.err
    assert "allow `get` and `create` of pods/proxy and services/proxy in namespace ml" in ran.err


def test_an_api_server_that_does_not_reach_pods_names_policies_and_firewalls(
    project: Project, reached: FakeCluster
) -> None:
    lost = {"kind": "Status", "apiVersion": "v1", "message": "error trying to reach service: i/o timeout"}
    reached.behind = {f"{POD}/models": (503, lost)}
    assert "See whether a network policy or firewall keeps the API server from pods" in (
        project.run("chat").err
    )


def test_what_is_not_deployed_or_not_ready_is_named(project: Project, reached: FakeCluster) -> None:
    reached.objects = [CHAT_ROUTE, QWEN_ROUTE, pod(status={})]
    ran = project.run("chat")
    assert (ran.code, ran.err.splitlines()[0]) == (
        5,
        "no pod of ml/qwen on cluster east is ready. Run `pulumi up`, and look at `inferfleet status`",
    )
    reached.objects = []
    assert "service ml/chat on cluster east is not deployed. Run `pulumi up`" in project.run("chat").err


def test_what_answers_and_is_no_model_is_told(project: Project, reached: FakeCluster) -> None:
    reached.behind = {f"{POD}/models": (200, {"hello": "world"})}
    assert "names no model: " in project.run("chat").err


def test_a_name_that_nobody_has_is_told_with_those_that_are_there(project: Project) -> None:
    ran = project.run("chat", "llama")
    assert (ran.code, ran.err.splitlines()[0]) == (
        1,
        "there is no service or deployment llama with replicas that have a place. There is "
        "deployment ml/qwen, service ml/chat",
    )


def test_a_cluster_where_it_is_not_is_told_with_those_where_it_is(project: Project) -> None:
    ran = project.run("chat", "ml/chat", "--cluster", "west")
    assert (ran.code, ran.err.splitlines()[0]) == (
        1,
        "service ml/chat is not on cluster west. It is on east",
    )


def test_on_several_clusters_one_must_be_named(project: Project) -> None:
    text = (project.root / "stacks/prod/clusters.yaml").read_text()
    project.write("stacks/prod/west.yaml", text.replace("east", "west"))
    project.edit("stacks/prod/models.yaml", "replicas: 1", "replicas: 4")
    ran = project.run("chat")
    assert (ran.code, ran.err.splitlines()[0]) == (
        1,
        "service ml/chat is on east, west. Name one of them: --cluster east",
    )


def test_a_deployment_without_a_route_is_asked_at_its_pod(project: Project, reached: FakeCluster) -> None:
    project.edit("stacks/prod/models.yaml", "  replicas: 1\n", "  replicas: 1\n  route: {enabled: false}\n")
    reached.objects = [pod()]
    assert project.run("chat", "qwen").out.startswith("Hello.\n")
    assert "it has no route (`route.enabled: false`)" in project.run("chat", "qwen", "--via", "gateway").err


def test_a_model_that_is_named_is_not_looked_up(project: Project, reached: FakeCluster) -> None:
    del reached.behind[f"{POD}/models"]
    assert project.run("chat", "--model", "lora-a").code == 0
    assert [body["model"] for _, body in reached.posted] == ["lora-a"]


def test_a_cluster_that_does_not_answer_is_named(project: Project, reached: FakeCluster) -> None:
    reached.close()
    ran = project.run("chat")
    assert (ran.code, "cluster 'east' does not answer at" in ran.err) == (5, True)
