"""A fleet is closed to the network and to other users, and its secrets to whoever has the repository."""

import base64
import os
import socket
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from asking import ask, until, url
from closed import beyond_loopback, listening, open_to_others
from documents import east, model, service, west
from dry_run import ApiServer
from killing import started_by
from one_picker import picker as one_picker
from project import Project, Run
from scraping import families, targets

from inferfleet.documents.kinds.inference_cluster import Serving
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.serving.monitors import engine_monitors, picker_monitors
from sandbox.passphrase import fits
from sandbox.places import StackPlaces
from sandbox.processes import Process, processes_in
from sandbox.toolchain.kinds_of_others import MONITORS
from sandbox.toolchain.progress import Progress
from sandbox.toolchain.tools import make_tools

# The programs of a fleet that listen; the agent and the controller of the gateway only ask.
SERVERS = {
    "engine",
    "envoy",
    "epp",
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kwok-controller",
}
CANARY = "canary-Qe47"
SERVING = {"gateway": {"className": "inferfleet-sandbox", "port": 8080}}
MONITORING = {"engines": "PodMonitor", "pickers": "PodMonitor"}


@pytest.fixture(scope="module")
def places(standing: Project) -> StackPlaces:
    return StackPlaces(standing.root, standing.stack)


@pytest.fixture(scope="module")
def heard(standing: Project, places: StackPlaces) -> dict[tuple[str, int], set[str]]:
    """Everything that listened during and after an update: clusters, engine of Pulumi, plugins, program."""
    standing.write("models", model("one"), service("chat", one=1))
    going = subprocess.Popen(
        ["pulumi", "up", "--yes", "--skip-preview", "--stack", standing.stack, "--non-interactive"],
        cwd=standing.root,
        env=dict(standing.environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    found: dict[tuple[str, int], set[str]] = {}
    while True:
        ended = going.poll() is not None
        pulumi = [Process(pid, Path("pulumi")) for pid in (going.pid, *started_by(going.pid))]
        for who, addresses in listening([*processes_in(places.folder), *pulumi]).items():
            found.setdefault(who, set()).update(addresses)
        if ended:
            break
        # A moment in which the update goes on; it may end before.
        try:
            going.wait(0.3)
        except subprocess.TimeoutExpired:
            continue
    output = going.communicate()[0]
    assert going.returncode == 0, output
    return found


def test_what_listens_is_found(heard: dict[tuple[str, int], set[str]]) -> None:
    with socket.create_server(("", 0)):
        ours = Process(os.getpid(), Path("test"))
        assert beyond_loopback(listening([ours])) == ["test 0.0.0.0"]
    assert {program for program, _ in heard} >= SERVERS | {"pulumi"}


def test_every_socket_of_a_fleet_listens_on_loopback_alone(heard: dict[tuple[str, int], set[str]]) -> None:
    assert beyond_loopback(heard) == []


def test_every_file_of_a_sandbox_is_its_owner_s_alone(
    heard: dict[tuple[str, int], set[str]], places: StackPlaces
) -> None:
    assert open_to_others(places.folder.parent) == []


@pytest.fixture(scope="module")
def definitions(heard: dict[tuple[str, int], set[str]], standing: Project) -> Iterator[Path]:
    """What the Prometheus operator defines, which no cluster of a sandbox has."""
    folder = make_tools(Progress(), (MONITORS,)).folder(MONITORS.name) / "crds"
    yield folder
    standing.write("clusters", east(), west())
    done = standing.up()
    standing.kubectl("east", "delete", "--ignore-not-found", "-f", str(folder))
    assert done.code == 0, done.output


@pytest.fixture(scope="module")
def unknown(definitions: Path, standing: Project) -> Run:
    """An update with monitoring on a cluster that knows none of its kinds."""
    standing.write("clusters", east(serving=SERVING | {"monitoring": MONITORING}), west())
    return standing.up()


@pytest.fixture(scope="module")
def scraped(unknown: Run, definitions: Path, standing: Project) -> Run:
    """The same update once somebody has installed the operator's definitions."""
    standing.kubectl("east", "create", "-f", str(definitions))
    standing.kubectl("east", "wait", "--for=condition=Established", "--timeout=600s", "-f", str(definitions))
    return standing.up()


READER = "east/ml/inferfleet-metrics-reader"


def test_a_cluster_without_the_kinds_of_monitoring_gets_none_of_them_and_a_notice(unknown: Run) -> None:
    assert unknown.code == 0, unknown.output
    assert unknown.operations == {
        f"ServiceAccount {READER}": "create",
        f"Secret {READER}": "create",
        "ClusterRole east/inferfleet:ml:metrics-reader": "create",
        "ClusterRoleBinding east/inferfleet:ml:metrics-reader": "create",
    }
    what = "does not know PodMonitor of monitoring.coreos.com/v1, so 2 objects of serving.monitoring are"
    assert f"cluster 'east' {what} left out" in " ".join(unknown.output.split())


def test_once_they_are_known_they_are_made_and_stay(scraped: Run, standing: Project) -> None:
    assert scraped.code == 0, scraped.output
    assert scraped.operations == {f"PodMonitor east/ml/one-{part}": "create" for part in ("decode", "epp")}
    again = standing.up("--refresh")
    assert (again.code, again.operations) == (0, {}), again.output
    assert standing.cli("status", "--stack", standing.stack).returncode == 0


def test_metrics_of_a_picker_are_for_the_reader_alone(scraped: Run, standing: Project) -> None:
    chat = url(standing, "east", "ml/chat")
    until("it serves", lambda: ask(chat).status == 200)
    [picker] = targets(standing, "east", "ml/one-epp")
    status, text = picker.scrape()
    assert status == 200
    assert {"inference_pool_ready_pods", "inference_objective_request_total"} <= families(text)
    somebody = standing.kubectl("east", "create", "token", "default", "--namespace", "ml").strip()
    assert [picker.scrape(token)[0] for token in ("", somebody)] == [401, 403]


def test_metrics_of_engines_are_where_the_monitor_says(scraped: Run, standing: Project) -> None:
    [engine] = targets(standing, "east", "ml/one-decode")
    status, text = engine.scrape()
    assert (status, engine.token) == (200, "")
    assert {"vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc"} <= families(
        text
    )


def test_the_token_of_the_reader_is_nowhere_but_in_its_secret(scraped: Run, standing: Project) -> None:
    [picker] = targets(standing, "east", "ml/one-epp")
    encoded = base64.b64encode(picker.token.encode()).decode()
    told = [
        scraped.output,
        standing.lock_file.read_text(),
        *(
            standing.run(*command).stdout
            for command in (
                ("inferfleet", "render", "--stack", standing.stack),
                ("inferfleet", "status", "--stack", standing.stack, "--json"),
                ("pulumi", "stack", "output", "--json", "--show-secrets", "--stack", standing.stack),
                ("pulumi", "stack", "export", "--stack", standing.stack),
            )
        ),
    ]
    assert all(told)
    assert [text for text in told if picker.token in text or encoded in text] == []


def test_the_api_server_takes_every_form_of_monitor(scraped: Run, standing: Project) -> None:
    server = ApiServer(standing.root / ".sandbox" / standing.stack / "east.kubeconfig")
    refused = {}
    for kind, engine in product(("PodMonitor", "ServiceMonitor"), ("vLLM", "Triton")):
        document = model("other")
        document["spec"]["engine"] = {"type": engine}
        deployment = ModelDeployment.model_validate(document)
        monitoring = {**MONITORING, "pickers": kind, "labels": {"release": "prometheus"}}
        flags = {"metrics-cert-dir": "/certificates"}
        serving = Serving.model_validate({**SERVING, "monitoring": monitoring, "eppFlags": flags})
        for made in (
            *engine_monitors(deployment=deployment, monitoring=serving.monitoring, stack="e2e"),
            *picker_monitors(one_picker(deployment, serving, profile="router-0.10", stack="e2e")),
        ):
            path = f"/apis/monitoring.coreos.com/v1/namespaces/ml/{made['kind'].lower()}s"
            refused[engine, made["kind"], made["metadata"]["name"]] = server.refuses(made, path)
    assert (len(refused), set(refused.values())) == (6, {""})


def test_a_secret_of_a_sandbox_needs_a_passphrase_that_is_not_in_the_repository(
    standing: Project, places: StackPlaces
) -> None:
    path = 'inferfleet:secrets["ml/hf"].token'
    assert standing.run("pulumi", "config", "set", "--secret", "--path", path, CANARY).returncode == 0
    text = places.settings.read_text()
    assert CANARY not in text
    assert base64.b64encode(CANARY.encode()).decode() not in text
    assert "secure:" in text
    assert "encryptionsalt" not in text
    kept, passphrase = places.salt.read_text().strip(), places.passphrase.read_text().strip()
    assert (fits("", kept), fits(passphrase, kept)) == (False, True)
    assert len(passphrase) >= 40
    got = standing.run("pulumi", "config", "get", "--path", path)
    assert got.stdout.strip() == CANARY, got.stderr
