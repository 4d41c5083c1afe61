"""Inputs of the fuzzer: a project that is changed at random in one of six ways, and a command to run."""

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import yaml
from expressions import expression
from fleet_of_one import CLASS, CLUSTER, SERVICE, together
from mutations import PIECES, mutated, scribbled

# A secret's value, and the content of a file outside of the project. Neither may be in any output.
SECRET = "canary-9f4e1c77"
OUTSIDE = "canary-71ab3d05"
KINDS = ("structure", "text", "settings", "lock", "cel", "kubeconfig")

GKE_CLUSTER = """\
apiVersion: inferfleet.dev/v1alpha1
kind: InferenceCluster
metadata: {name: west, labels: {tier: prod}}
spec:
  cluster: {source: GKE, gke: {project: acme-ml, region: europe-west4}}
  nodePools: [{name: l4, className: gke-l4-1x-g2, maxNodeCount: 2, zones: [europe-west4-a]}]
  serving: {gateway: {className: istio}}
"""
DEPLOYMENT = """\
apiVersion: inferfleet.dev/v1alpha1
kind: ModelDeployment
metadata: {name: qwen, namespace: ml, labels: {family: qwen}}
spec:
  replicas: 1
  clusterSelector: {matchLabels: {}}
  nodeSelector: {cel: 'capacity["gpu.nvidia.com/memory"].compareTo(quantity("20Gi")) >= 0'}
  tolerations: [{key: dedicated, operator: Exists}]
  engine: {type: vLLM, startup: 30m}
  endpointPicker: {replicas: 2, flags: {v: 2}}
  route: {hostnames: [models.example.com], headers: {x-model: qwen}}
  rollout: Surge
  plugins: [{name: demo-pod-tweaks, config: {env: [{name: LOG, value: info}]}}]
  workers:
    count: 1
    topology: {tensor: 1}
    template:
      metadata: {labels: {team: a}, annotations: {note: x}}
      spec:
        containers:
          - name: engine
            image: "vllm:1"
            args: [--max-model-len, "1024"]
            env:
              - {name: TOKEN, valueFrom: {secretKeyRef: {name: hf, key: token}}}
            resources: {requests: {cpu: "1", memory: 4Gi}}
"""
SETTINGS = f"""\
config:
  inferfleet:locked: false
  inferfleet:unplaced: warn
  inferfleet:await: ready
  inferfleet:plugins: [{{name: accelerator}}]
  inferfleet:secrets:
    ml/hf: {{token: "{SECRET}"}}
"""
LOCK = """\
version: 1
stack: prod
clusters:
  east: {source: Existing, uid: 6e0c0d4e-0000-4000-8000-000000000001}
pools:
  east/l4: {nodes: 1}
placements:
  ml/qwen east decode=l4: 1
  ml/gone east decode=l4: 2
services:
  ml/chat: [east]
"""
KUBECONFIG = f"""\
apiVersion: v1
kind: Config
current-context: c
contexts: [{{name: c, context: {{cluster: k, user: u}}}}]
clusters: [{{name: k, cluster: {{server: "https://127.0.0.1:1", certificate-authority-data: eA==}}}}]
users: [{{name: u, user: {{token: {SECRET}}}}}]
"""
PROJECT = {
    "Pulumi.yaml": "name: inferfleet\n",
    "classes/l4.yaml": CLASS,
    "stacks/Pulumi.prod.yaml": SETTINGS,
    "stacks/prod/clusters.yaml": CLUSTER,
    "stacks/prod/models.yaml": together(DEPLOYMENT, SERVICE),
    "stacks/prod/placement.lock": LOCK,
}
DOCUMENTS = ("classes/l4.yaml", "stacks/prod/clusters.yaml", "stacks/prod/models.yaml")
_COMMANDS = (
    ("validate",),
    ("plan",),
    ("plan", "--json"),
    ("plan", "--locked", "--json"),
    ("explain", "ml/qwen"),
    ("explain", "ml/qwen", "--json"),
    ("render",),
    ("classes",),
    ("classes", "l4"),
    ("classes", "l4", "--json"),
    ("validate", "--json"),
)
# File to content; a link begins with "-> ".
Files = dict[str, str]


@dataclass(frozen=True)
class Case:
    """One input: the files that differ from PROJECT, and the words of the command."""

    kind: str
    number: int
    files: Files
    command: tuple[str, ...]

    def as_text(self) -> str:
        """Return the case as a file that `from_text` reads."""
        files = {name: base64.b64encode(_encoded(text)).decode() for name, text in self.files.items()}
        values = {"kind": self.kind, "number": self.number, "command": self.command, "files": files}
        return json.dumps(values, indent=1) + "\n"


def from_text(text: str) -> Case:
    """Return the case that was written to a file."""
    values = json.loads(text)
    files = {
        name: base64.b64decode(text).decode("utf-8", "surrogatepass")
        for name, text in values["files"].items()
    }
    return Case(values["kind"], values["number"], files, tuple(values["command"]))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def write(case: Case, root: Path) -> None:
    """Make the files of the project with the case's changes in an empty folder."""
    outside = root.parent / "outside"
    outside.mkdir(exist_ok=True)
    for name in ("token", "token.yaml", "placement.lock"):
        (outside / name).write_text(f"{OUTSIDE}: [\n")
    for name, text in (PROJECT | case.files).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("-> "):
            path.symlink_to(text.removeprefix("-> "))
        else:
            path.write_bytes(_encoded(text))


def make(seed: int, number: int, kinds: tuple[str, ...] = KINDS) -> Case:
    """Return the input with this number; the same seed and number give the same one."""
    random = Random(f"{seed}/{number}")
    kind = kinds[number % len(kinds)]
    files = {
        "structure": _structure,
        "text": _text,
        "settings": _settings,
        "lock": _lock,
        "cel": _cel,
        "kubeconfig": _kubeconfig,
    }[kind](random)
    return Case(kind, number, files, random.choice(_COMMANDS))


def _dumped(random: Random, documents: list[Any]) -> str:
    if random.random() < 0.1:
        return "\n---\n".join(json.dumps(document) for document in documents)
    return yaml.safe_dump_all(
        documents,
        allow_unicode=random.random() < 0.5,
        sort_keys=False,
        default_flow_style=random.choice((None, True)),
    )


def _with_gke(random: Random) -> Files:
    """Return the documents, sometimes with a cluster that the stack creates."""
    files = {name: PROJECT[name] for name in DOCUMENTS}
    if random.random() < 0.3:
        catalogue = Path(__file__).parents[2] / "classes" / "gke-l4.yaml"
        files |= {"stacks/prod/west.yaml": GKE_CLUSTER, "classes/gke-l4.yaml": catalogue.read_text()}
    return files


def _structure(random: Random) -> Files:
    files = _with_gke(random)
    name = random.choice(list(files))
    documents = list(yaml.safe_load_all(files[name]))
    at = random.randrange(len(documents))
    documents[at] = mutated(random, documents[at])
    return files | {name: _dumped(random, documents)}


def _text(random: Random) -> Files:
    files = _with_gke(random)
    name = random.choice(list(files))
    text = scribbled(random, files[name])
    chance = random.random()
    if chance < 0.05:
        return files | {name: f"-> ../../../outside/{random.choice(('token', 'token.yaml'))}"}
    if chance < 0.1:
        strange = random.choice(PIECES[:11]).replace("/", "_").replace("\n", "\r")[:50] or "x"
        return files | {f"stacks/prod/{strange}.yaml": text}
    return files | {name: text}


def _settings(random: Random) -> Files:
    name = "stacks/Pulumi.prod.yaml"
    if random.random() < 0.4:
        return {name: scribbled(random, SETTINGS)}
    settings = yaml.safe_load(SETTINGS)
    if random.random() < 0.5:
        secrets = settings["config"]["inferfleet:secrets"]
        settings["config"]["inferfleet:secrets"] = mutated(random, secrets)
    else:
        settings = mutated(random, settings)
    return {name: _dumped(random, [settings])}


def _lock(random: Random) -> Files:
    name = "stacks/prod/placement.lock"
    if random.random() < 0.05:
        return {name: "-> ../../../outside/placement.lock"}
    text = scribbled(random, LOCK)
    if random.random() < 0.3:
        text = text.replace(random.choice(("east", "ml/qwen", "l4", "Existing", "1")), random.choice(PIECES))
    return {name: text}


def _cel(random: Random) -> Files:
    document = yaml.safe_load(DEPLOYMENT)
    document["spec"]["nodeSelector"]["cel"] = expression(random)
    return {"stacks/prod/models.yaml": _dumped(random, [document])}


def _kubeconfig(random: Random) -> Files:
    data = mutated(random, yaml.safe_load(KUBECONFIG))
    text = scribbled(random, KUBECONFIG) if random.random() < 0.3 else _dumped(random, [data])
    return {"stacks/prod/east.kubeconfig": text}
