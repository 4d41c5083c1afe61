"""Where a secret may be: each place has a value of its own, looked for in all that is printed or written.

The table of docs/explanation/threat-model.md says the same in words.
"""

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from certificate import Certificate
from fake_cluster import KINDS, FakeCluster, kubeconfig, thing
from fake_pulumi import FakePulumi
from fleet_of_one import CLUSTER, TODAY, UID
from in_git import commit
from small_project import Project

from inferfleet.documents.loading.stack import load_stack
from inferfleet.documents.problems import InvalidDocuments
from inferfleet.run import Prepared, prepare

PAGE = Path(__file__).parents[2] / "docs/explanation/threat-model.md"
VERSION = "client.authentication.k8s.io/v1"
# Place -> everywhere it may come to. Whatever is in no list here is in nothing that is printed or written.
MAY_BE: dict[str, set[str]] = {
    "value of a secret, in plain text": {"secrets for Pulumi"},
    "value of a secret, encrypted": {"secrets for Pulumi"},
    "kubeconfig in a setting": {"request", "kubeconfigs for Pulumi"},
    "token in a kubeconfig": {"request", "kubeconfigs for Pulumi"},
    "output of a credential command": {"request"},
    "key or certificate in a kubeconfig": {"kubeconfigs for Pulumi"},
    "setting of another program": set(),
    "environment of Pulumi ESC": set(),
    "object in the state": set(),
    "data of a Secret on a cluster": set(),
    "env of a pod template": {"render", "objects for Pulumi", "dry runs"},
    "annotation of a pod template": {"render", "objects for Pulumi", "dry runs"},
    "config of a plugin": {"render", "explain", "objects for Pulumi", "dry runs"},
}
# Those that documents hold: they are the content of pods, and messages about them may quote them.
WRITTEN = {place for place, sinks in MAY_BE.items() if "render" in sinks}
CHAT = "chat ml/qwen --cluster east"
OFFLINE = ("validate", "plan", "render", "explain", "classes", "schema")
URN = "urn:pulumi:prod::inferfleet::inferfleet:components:X$kubernetes:core/v1:ConfigMap::east/ml/a"


def canaries(salt: str, written: str = "same") -> dict[str, str]:
    """With another salt, secrets have other values, and what documents hold has the same."""
    return {
        place: f"canary-{written if place in WRITTEN else salt}-{number:02}-Zx81"
        for number, place in enumerate(MAY_BE)
    }


class Canary:
    """A project with a value of its own in every place, and clusters that answer."""

    def __init__(self, project: Project, pulumi: FakePulumi, fakes: dict[str, FakeCluster], ca: str) -> None:
        self.project, self.pulumi, self.fakes, self.ca = project, pulumi, fakes, ca
        self.values: dict[str, str] = {}
        self.committed: dict[str, str] = {}

    def commit(self) -> None:
        """Commit other values in all places."""
        self.put("base", "base")
        commit(self.project.root)
        self.committed = self.values

    def put(self, salt: str, written: str = "same") -> None:
        self.values = value = canaries(salt, written)
        secrets = {
            "ml/plain": {"token": value["value of a secret, in plain text"]},
            "ml/hf": {"token": {"secure": "v1:abc"}},
        }
        config = {
            "aws:secretKey": value["setting of another program"],
            "inferfleet:secrets": secrets,
            "inferfleet:south": {"secure": "v1:def"},
            "inferfleet:trustRepositoryKubeconfigs": True,
        }
        environment = {"values": {"password": value["environment of Pulumi ESC"]}}
        self.project.write(
            "stacks/Pulumi.prod.yaml", yaml.safe_dump({"config": config, "environment": environment})
        )
        south = CLUSTER.replace("path: east.kubeconfig", "configKey: south").replace("east", "south")
        north = CLUSTER.replace("east", "north")
        west = CLUSTER.replace("east", "west")
        self.project.write("stacks/prod/clusters.yaml", "---\n".join([CLUSTER, south, north, west]))
        self._models()
        self._kubeconfigs()
        held = {"urn": URN, "type": "kubernetes:core/v1:ConfigMap", "custom": True}
        inputs = {
            **thing("ConfigMap", "a", "ml"),
            "data": {"key": value["object in the state"]},
        }
        self.pulumi.has(
            {
                "version": 3,
                "deployment": {
                    "resources": [],
                    "pending_operations": [{"type": "creating", "resource": {**held, "inputs": inputs}}],
                },
            }
        )
        self.pulumi.tells(setting=self.south)
        labels = {"inferfleet.dev/stack": "prod", "app.kubernetes.io/managed-by": "inferfleet"}
        data = {"token": value["data of a Secret on a cluster"]}
        gateways = thing("GatewayClass", "istio", spec={"controllerName": "istio.io/gateway-controller"})
        for fake in self.fakes.values():
            fake.objects = [thing("Secret", "hf", "ml", labels=labels, data=data), gateways]

    def _models(self) -> None:
        value = self.values
        env = [
            {"name": "KEY", "value": value["env of a pod template"]},
            *(
                {"name": name.upper(), "valueFrom": {"secretKeyRef": {"name": name, "key": "token"}}}
                for name in ("hf", "plain")
            ),
        ]
        model = yaml.safe_load((self.project.root / "stacks/prod/models.yaml").read_text().split("---")[0])
        template = model["spec"]["workers"]["template"]
        template["metadata"] = {"annotations": {"note": value["annotation of a pod template"]}}
        template["spec"]["containers"][0]["env"] = env
        tweaks = {"env": [{"name": "LOG", "value": value["config of a plugin"]}]}
        model["spec"]["plugins"] = [{"name": "demo-pod-tweaks", "config": tweaks}]
        self.project.write("stacks/prod/models.yaml", yaml.safe_dump(model))

    def _kubeconfigs(self) -> None:
        token = self.values["output of a credential command"]
        answer = {"apiVersion": VERSION, "kind": "ExecCredential", "status": {"token": token}}
        printed = self.pulumi.folder / "printed"
        printed.write_text(json.dumps(answer))
        command = {"apiVersion": VERSION, "command": "cat", "args": [str(printed)]}
        broken = base64.b64encode(self.values["key or certificate in a kubeconfig"].encode()).decode()
        self._kubeconfig("east", exec=command)
        self._kubeconfig("west", token=self.values["token in a kubeconfig"] + "\n")
        self._kubeconfig("north", **{"client-certificate-data": broken, "client-key-data": broken})
        self.south = self._text("south", token=self.values["kubeconfig in a setting"])

    def _kubeconfig(self, name: str, **user: Any) -> None:
        self.project.write(f"stacks/prod/{name}.kubeconfig", self._text(name, **user))

    def _text(self, name: str, **user: Any) -> str:
        config = kubeconfig(self.fakes[name].address, **user)
        config["clusters"][0]["cluster"]["certificate-authority-data"] = self.ca
        return yaml.safe_dump(config)

    def run(self, *verb: str) -> str:
        ran = self.project.run(*verb)
        return ran.out + ran.err

    def prepared(self, *, preview: bool) -> Prepared | str:
        secrets = {
            "ml/plain": {"token": self.values["value of a secret, in plain text"]},
            "ml/hf": {"token": self.values["value of a secret, encrypted"]},
        }
        config = {
            "secrets": json.dumps(secrets),
            "south": self.south,
            "trustRepositoryKubeconfigs": "true",
        }
        try:
            return prepare(
                *load_stack(self.project.root, "prod", config=config),
                config,
                ci=False,
                preview=preview,
                today=TODAY,
            )
        except InvalidDocuments as invalid:
            return str(invalid)

    def found(self, text: str) -> set[str]:
        """The places whose value is in the text, as it is or in base64."""
        return {
            place
            for place, value in (*self.values.items(), *self.committed.items())
            if value in text or base64.b64encode(value.encode()).decode().rstrip("=") in text
        }

    def everywhere(self) -> Iterator[tuple[str, str]]:
        """Everything that every verb and a run of the program prints, writes, sends or hands on."""
        for verb in OFFLINE:
            words = [verb, *(["ml/qwen"] if verb == "explain" else [])]
            words += ["--stack", "prod"] if verb not in ("classes", "schema") else []
            yield verb, self.run(*words)
            if verb == "render":
                yield verb, self.run(*words, "--format", "json")
            elif verb != "schema":
                yield verb, self.run(*words, "--json")
        folder = self.project.root / "digests"
        for words in ([], ["--json"], ["--output", str(folder)]):
            yield "digest", self.run("digest", "--base", "main", *words)
        for file in sorted(folder.iterdir()):
            yield "digest", file.read_text()
        for verb in ("plan --write", "status", "recover", CHAT):
            yield verb, self.run(*verb.split(), "--stack", "prod")
            yield verb, self.run(*verb.split(), "--stack", "prod", "--json")
        yield "placement.lock", self.project.lock
        yield "refused preview", str(self.prepared(preview=True))
        clusters = self.project.root / "stacks/prod/clusters.yaml"
        clusters.write_text(clusters.read_text().replace("metadata: {name: north}\nspec:", NORTH_LOST))
        prepared = self.prepared(preview=False)
        assert isinstance(prepared, Prepared), prepared
        yield "warnings", "\n".join(map(str, prepared.warnings))
        yield "placement.lock", prepared.lock_text or ""
        yield "objects for Pulumi", repr(prepared)
        yield "kubeconfigs for Pulumi", "\n".join(prepared.kubeconfigs.values())
        yield "request", " ".join(str(each) for fake in self.fakes.values() for each in fake.credentials)
        yield "dry runs", repr([fake.patched for fake in self.fakes.values()])


RBAC = ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
SERVED = {
    **KINDS,
    "v1": {**KINDS["v1"], "ServiceAccount": ("serviceaccounts", True)},
    "rbac.authorization.k8s.io/v1": {
        kind: (f"{kind.lower()}s", not kind.startswith("Cluster")) for kind in RBAC
    },
}
NORTH_LOST = "metadata: {name: north}\nspec:\n  state: lost"


@pytest.fixture
def canary(
    project: Project,
    cluster: Callable[..., FakeCluster],
    tls: Certificate,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Canary:
    fakes = {
        name: cluster(tls=tls.context, uid=f"{UID[:-1]}{number}", kinds=SERVED)
        for number, name in enumerate(("east", "south", "north", "west"))
    }
    pulumi = FakePulumi(tmp_path_factory.mktemp("backend"), monkeypatch)
    return Canary(project, pulumi, fakes, tls.ca)


def test_a_secret_is_where_it_may_be_and_nowhere_else(canary: Canary) -> None:
    canary.commit()
    canary.put("one")
    sinks: dict[str, set[str]] = {place: set() for place in MAY_BE}
    for sink, text in canary.everywhere():
        for place in canary.found(text):
            sinks[place].add(sink)
    # What components/objects.py makes secret outputs of, as the other tests of components/ show.
    for place in ("value of a secret, in plain text", "value of a secret, encrypted"):
        sinks[place].add("secrets for Pulumi")
    assert sinks == MAY_BE


def test_nothing_that_is_printed_depends_on_a_secret_not_even_a_hash(canary: Canary) -> None:
    """A hash of a short secret tells it to whoever tries."""
    texts = []
    for salt in ("one", "two"):
        canary.put(salt)
        canary.project.lock_file.unlink(missing_ok=True)
        said = "\n".join(canary.run(verb, *(["ml/qwen"] if verb == "explain" else [])) for verb in OFFLINE)
        said += canary.run("plan", "--write") + canary.project.lock
        for place in WRITTEN:
            said = said.replace(canary.values[place], place)
        texts.append(said)
    assert texts[0] == texts[1]


BROKEN = {
    "a field that nothing has": ("stacks/prod/models.yaml", "replicas: 1", "replicas: 1\n  engin: {}"),
    "another kind of value": ("stacks/prod/models.yaml", "replicas: 1", "replicas: [x"),
    "settings that are no YAML": ("stacks/Pulumi.prod.yaml", "environment:", "  environment: ["),
    "settings of another form": ("stacks/Pulumi.prod.yaml", "inferfleet:secrets:", "inferfleet:locked:"),
    "a kubeconfig that is no YAML": ("stacks/prod/west.kubeconfig", "users:", "users: ["),
    "a kubeconfig with a number for a token": ("stacks/prod/west.kubeconfig", "token: ", "token: 1\n    x: "),
    "a kubeconfig without TLS": ("stacks/prod/west.kubeconfig", "https://", "http://"),
    "a kubeconfig for a port that none is": ("stacks/prod/west.kubeconfig", "127.0.0.1:", "127.0.0.1:1"),
}


@pytest.mark.parametrize("mistake", BROKEN)
def test_no_message_shows_a_secret_either(canary: Canary, mistake: str) -> None:
    canary.put("one")
    canary.project.edit(*BROKEN[mistake])
    verbs = (*OFFLINE[:4], "plan --write", "status", "recover", CHAT)
    said = "".join(
        canary.run(*verb.split(), *(["ml/qwen"] if verb == "explain" else []), *json_too)
        for verb in verbs
        for json_too in ([], ["--json"] if verb != "render" else ["--format", "json"])
    )
    said += str(canary.prepared(preview=True))
    assert canary.found(said) - WRITTEN == set()


def test_the_page_has_the_same_table() -> None:
    rows = [line.split("|")[1:3] for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    table = {place.strip(): sinks.strip() for place, sinks in rows}
    assert {place: table.get(place) for place in MAY_BE} == {
        place: ", ".join(sorted(sinks)) or "nothing" for place, sinks in MAY_BE.items()
    }
