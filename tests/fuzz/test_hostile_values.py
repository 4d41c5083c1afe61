"""Hostile texts in every place of a project, through every offline verb: nothing does more than appear."""

import copy
import json

import pytest
import yaml
from cases import GKE_CLUSTER, LOCK, PROJECT, SETTINGS, Case
from fleet_of_one import SERVICE
from mutations import places
from outcomes import outcome_of

# Of each sort one; several lines, so that the second begins with a command.
HOSTILE = "a\x1b]0;x\x07\u202e\u2028\x85\n::set-output name=x::y\n##vso[task.x]##[error]\u200b"
LONG = "k" * 9_000
VERBS = (
    ("plan",),
    ("plan", "--json"),
    ("explain", "ml/qwen"),
    ("explain", "ml/qwen", "--json"),
    ("render",),
    ("render", "--format", "json"),
    ("render", "-o", "out"),
    ("classes",),
    ("classes", "l4"),
)
RICH_SERVICE = SERVICE.replace("spec: {", "spec: {hostnames: [models.example.com], ")
TEXTS = {
    "classes/l4.yaml": PROJECT["classes/l4.yaml"],
    "stacks/prod/clusters.yaml": PROJECT["stacks/prod/clusters.yaml"],
    "stacks/prod/west.yaml": GKE_CLUSTER.replace("gke-l4-1x-g2", "l4"),
    "stacks/prod/models.yaml": PROJECT["stacks/prod/models.yaml"].rpartition("---\n")[0],
    "stacks/prod/service.yaml": RICH_SERVICE,
    "stacks/Pulumi.prod.yaml": SETTINGS,
}


def told(files: dict[str, str], *verb: str) -> list[str]:
    """Everything wrong with the output of a verb."""
    return outcome_of(Case("hostile", 0, files, verb or ("validate",)), steady=False).faults


def accepted(files: dict[str, str]) -> bool:
    """Whether the files are valid; whatever is said about them must be as it should be."""
    outcome = outcome_of(Case("hostile", 0, files, ("validate",)), steady=False)
    assert outcome.faults == []
    return outcome.code == 0


@pytest.mark.parametrize("file", TEXTS)
@pytest.mark.parametrize("text", [HOSTILE, LONG], ids=["hostile", "long"])
def test_a_hostile_text_in_any_field(file: str, text: str) -> None:
    """One field after the other; those that take the text keep it, for the verbs that show documents."""
    document = yaml.safe_load(TEXTS[file])
    for at in range(len(places(document))):
        changed = copy.deepcopy(document)
        holder, key = places(changed)[at]
        if isinstance(holder[key], str | int | bool):
            holder[key] = text
            document = changed if accepted({file: json.dumps(changed)}) else document
    for verb in VERBS:
        assert told({file: json.dumps(document)}, *verb) == []


@pytest.mark.parametrize("file", TEXTS)
def test_a_hostile_key_in_any_map(file: str) -> None:
    document = yaml.safe_load(TEXTS[file])
    for at in range(len(places(document))):
        changed = copy.deepcopy(document)
        holder, key = places(changed)[at]
        if isinstance(holder[key], dict):
            holder[key][HOSTILE] = HOSTILE
            document = changed if accepted({file: json.dumps(changed)}) else document
    assert not accepted({file: json.dumps(document | {HOSTILE: HOSTILE})}) or "Pulumi" in file
    for verb in VERBS:
        assert told({file: json.dumps(document)}, *verb) == []


@pytest.mark.parametrize(
    "part", ["prod", "east", "Existing", "6e0c", "ml/qwen", "l4", "ml/chat", "1\n", "clusters"]
)
def test_a_hostile_entry_of_the_lock(part: str) -> None:
    for text in (HOSTILE, json.dumps(HOSTILE), HOSTILE.replace("\n", ""), LONG):
        lock = LOCK.replace(part, text + "\n" * (part == "1\n"), 1)
        assert told({"stacks/prod/placement.lock": lock}) == []


@pytest.mark.parametrize("name", [HOSTILE.replace("/", "_"), "n" * 240])
@pytest.mark.parametrize("text", ["kind: [", SERVICE.replace("chat", "talk"), "a: 1"])
def test_a_hostile_file_name(name: str, text: str) -> None:
    assert told({f"stacks/prod/{name}.yaml": text}) == []
    assert told({f"stacks/prod/{name}/a.YAML": text}, "plan", "--json") == []


@pytest.mark.parametrize(
    "yaml_text",
    [
        "a: !{} b",
        "a: !<{}> b",
        "%TAG ! {}\n---\na: !x b",
        "&{} a",
        "*{}",
        "? {}\n: b",
        "<<: {}",
        "a: 0{}",
        "- {}",
        "kind: Secret\napiVersion: {}/v1",
    ],
)
def test_a_hostile_piece_of_yaml(yaml_text: str) -> None:
    for piece in (HOSTILE, HOSTILE.replace("\n", " "), LONG, "\x1b[1m", "\u2028::error::x"):
        assert told({"stacks/prod/x.yaml": yaml_text.replace("{}", piece)}) == []
