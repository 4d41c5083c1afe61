"""A pull request brings a kubeconfig that runs a program and sends files: it is used in no verb, nor in runs
of the Pulumi program, unless the stack trusts its repository. Then all goes as with any kubeconfig.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from certificate import Certificate
from fake_cluster import FakeCluster, kubeconfig
from fake_pulumi import FakePulumi
from fleet_of_one import TODAY, UID
from listener import Listener
from small_project import Project

from inferfleet.documents.loading.stack import load_stack
from inferfleet.documents.problems import InvalidDocuments
from inferfleet.run import prepare

ASKING = ("plan --write", "status", "recover", "preview", "up")
VERBS = ("validate", "plan", "render", "explain ml/qwen", *ASKING)
FILE = "stacks/prod/east.kubeconfig"
TRUSTED = "config: {'inferfleet:trustRepositoryKubeconfigs': true}\n"
REFUSED = "in the repository, where a pull request can change it, so it is not used"
VERSION = "client.authentication.k8s.io/v1"
URN = "urn:pulumi:prod::inferfleet::inferfleet:components:X$kubernetes:core/v1:ConfigMap::east/ml/a"
# An object whose creation was cut off, so that `recover` asks its cluster.
PENDING = {
    "type": "creating",
    "resource": {
        "urn": URN,
        "type": "kubernetes:core/v1:ConfigMap",
        "custom": True,
        "inputs": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ml"}},
    },
}


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.close()


@pytest.fixture
def pulumi(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> FakePulumi:
    made = FakePulumi(tmp_path_factory.mktemp("backend"), monkeypatch)
    made.has({"version": 3, "deployment": {"resources": [], "pending_operations": [PENDING]}})
    return made


def go(project: Project, verb: str, config: dict[str, str]) -> str:
    """All that one verb, or one run of the Pulumi program, says."""
    if verb not in ("preview", "up"):
        ran = project.run(*verb.split(), "--stack", "prod")
        return ran.out + ran.err
    try:
        prepared = prepare(
            *load_stack(project.root, "prod", config=config),
            config,
            ci=False,
            preview=verb == "preview",
            today=TODAY,
        )
    except InvalidDocuments as invalid:
        return str(invalid)
    return "\n".join(map(str, prepared.warnings))


def touching(file: Path) -> dict[str, Any]:
    return {"command": "touch", "args": [str(file)], "apiVersion": VERSION, "interactiveMode": "Never"}


def hostile(kind: str, listener: Listener, outside: Path) -> dict[str, Any]:
    """`outside` holds a file that the kubeconfig wants to send, and is where its program leaves a trace."""
    https, http = f"https://{listener.host}", f"http://{listener.host}"
    return {
        "exec": kubeconfig(https, exec=touching(outside / "ran")),
        "auth-provider": kubeconfig(
            https,
            **{
                "auth-provider": {
                    "name": "gcp",
                    "config": {"cmd-path": "touch", "cmd-args": str(outside / "ran")},
                }
            },
        ),
        "tokenFile over http": kubeconfig(http, tokenFile=str(outside / "key")),
        "tokenFile over https": kubeconfig(https, tokenFile=str(outside / "key")),
        "no credentials": kubeconfig(http),
    }[kind]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "kind", ["exec", "auth-provider", "tokenFile over http", "tokenFile over https", "no credentials"]
)
def test_a_kubeconfig_of_a_pull_request_runs_and_sends_nothing(
    project: Project, pulumi: FakePulumi, listener: Listener, tmp_path_factory: Any, kind: str, verb: str
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "key").write_text("hunter2")
    project.write(FILE, yaml.safe_dump(hostile(kind, listener, outside)))
    said = go(project, verb, {})
    assert (listener.connections, [file.name for file in outside.iterdir()]) == (0, ["key"])
    assert (REFUSED in " ".join(said.split()), "hunter2" in said) == (verb in ASKING, False)


@pytest.mark.parametrize("verb", ASKING)
@pytest.mark.parametrize("way", ["a link", "a link in /proc", "a setting", "a default", "an environment"])
def test_ways_around_lead_nowhere(
    project: Project, pulumi: FakePulumi, listener: Listener, tmp_path_factory: Any, way: str, verb: str
) -> None:
    trace = tmp_path_factory.mktemp("outside") / "ran"
    text = yaml.safe_dump(kubeconfig(f"https://{listener.host}", exec=touching(trace)))
    config: dict[str, str] = {}
    if way == "a link":
        outside = trace.parent / "k"
        outside.write_text(text)
        (project.root / FILE).symlink_to(outside)
    elif way == "a link in /proc":
        project.write(FILE, text)
        project.edit("stacks/prod/clusters.yaml", "path: east", "path: /proc/self/cwd/stacks/prod/east")
    else:
        project.edit("stacks/prod/clusters.yaml", "path: east.kubeconfig", "configKey: k")
        config = {"k": text}
        pulumi.tells(setting=text)
        written = {
            "a setting": {"config": {"inferfleet:k": text}},
            "a default": {},
            "an environment": {"environment": {"values": {"pulumiConfig": {"inferfleet:k": text}}}},
        }[way]
        project.write("stacks/Pulumi.prod.yaml", yaml.safe_dump(written))
        if way == "a default":
            project.write("Pulumi.yaml", yaml.safe_dump({"config": {"inferfleet:k": {"default": text}}}))
    said = go(project, verb, config)
    assert (listener.connections, trace.exists()) == (0, False)
    assert said


@pytest.mark.parametrize("state", ["lost", "abandoned"])
def test_a_cluster_that_is_given_up_brings_no_kubeconfig_either(
    project: Project, listener: Listener, tmp_path_factory: Any, state: str
) -> None:
    """Its problems are no errors, and what is refused is not handed to the engine for all that."""
    trace = tmp_path_factory.mktemp("outside") / "ran"
    project.write(FILE, yaml.safe_dump(hostile("exec", listener, trace.parent)))
    project.edit("stacks/prod/clusters.yaml", "spec:\n", f"spec:\n  state: {state}\n")
    project.write("stacks/Pulumi.prod.yaml", "config: {'inferfleet:unplaced': warn}\n")
    config = {"unplaced": "warn"}
    prepared = prepare(
        *load_stack(project.root, "prod", config=config), config, ci=False, preview=False, today=TODAY
    )
    assert (prepared.kubeconfigs, listener.connections, trace.exists()) == ({}, 0, False)


@pytest.mark.parametrize("verb", ASKING)
def test_a_stack_that_trusts_its_repository_works_as_before(
    project: Project, pulumi: FakePulumi, cluster: Callable[..., FakeCluster], tls: Certificate, verb: str
) -> None:
    fake = cluster(tls=tls.context, uid=UID)
    answer = {"apiVersion": VERSION, "kind": "ExecCredential", "status": {"token": "from-helper\n"}}
    command = {"apiVersion": VERSION, "command": "./helper"}
    helper = project.write("stacks/prod/helper", f"#!/bin/sh\nprintf '%s' '{json.dumps(answer)}'\n")
    helper.chmod(0o755)
    config = kubeconfig(fake.address, exec=command)
    config["clusters"][0]["cluster"]["certificate-authority"] = "ca.crt"
    (project.root / "stacks/prod/ca.crt").write_bytes(tls.file.read_bytes())
    project.write(FILE, yaml.safe_dump(config))
    project.write("stacks/Pulumi.prod.yaml", TRUSTED)
    said = go(project, verb, {"trustRepositoryKubeconfigs": "true"})
    assert fake.credentials == {"Bearer from-helper"}, said
    assert (REFUSED in said, "from-helper" in said) == (False, False)


@pytest.mark.parametrize("verb", ASKING)
def test_also_a_trusted_one_sends_nothing_without_tls(
    project: Project, pulumi: FakePulumi, listener: Listener, verb: str
) -> None:
    project.write(FILE, yaml.safe_dump(kubeconfig(f"http://{listener.host}", token="hunter2")))
    project.write("stacks/Pulumi.prod.yaml", TRUSTED)
    said = " ".join(go(project, verb, {"trustRepositoryKubeconfigs": "true"}).split())
    assert (listener.connections, "hunter2" in said) == (0, False)
    assert f"east.kubeconfig:4: its server http://{listener.host} is asked without TLS" in said
