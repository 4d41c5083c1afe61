"""Names, labels, ports and grace periods follow from declared fields, never from text that engines read."""

import random
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from inferfleet.desired import desired
from inferfleet.documents.loading.stack import load_stack
from inferfleet.fleet.lock.lock import Lock
from inferfleet.serving.workload import WORKER_SET, templates_of

ROOT = Path(__file__).parent.parent.parent
STACKS = ("local", "frontier", "disaggregated", "gke-demo")
ROUNDS, EDITS = 5, 10
WORDS = (
    "--max-num-seqs=64",
    "--port=9999",
    "--block-size 64",
    "--tensor-parallel-size=3",
    "--shutdown-timeout=7",
    "--headless",
    "--data-parallel-hybrid-lb",
    "--served-model-name=other",
    'cmd=(vllm serve x)\nexec "${cmd[@]}"',
    "$(LWS_WORKER_INDEX)",
    "ümläut 'quoted' \"twice\"",
    '--kv-transfer-config={"kv_connector":"NixlConnector"}',
)


Files = dict[Path, list[dict[str, Any]]]


def _read(folder: Path) -> Files:
    return {path: list(yaml.safe_load_all(path.read_text())) for path in sorted(folder.glob("*.yaml"))}


def _write(files: Files) -> None:
    for path, documents in files.items():
        path.write_text(yaml.safe_dump_all(documents, sort_keys=False))


def _specs(files: Files) -> list[dict[str, Any]]:
    every = [document for documents in files.values() for document in documents]
    return [document["spec"] for document in every if document["kind"] == "ModelDeployment"]


def _engines(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Containers of engines in templates that a document has."""
    for part in (spec, spec.get("prefill", {})):
        template = part.get("workers", {}).get("template")
        if template:
            yield from (one for one in template["spec"]["containers"] if one["name"] == "engine")


def edit_text(rng: random.Random, spec: dict[str, Any]) -> None:
    """Change text that an engine reads: arguments, or variables, or the words of a command of its own."""
    word = rng.choice(WORDS)
    places = [*_engines(spec)]
    owned = [place for place in places if "command" in place or "args" in place]
    choice = rng.randrange(3)
    if choice == 0 and owned:
        rng.choice(owned).setdefault("args", []).append(word)
    elif choice == 1 and places:
        rng.choice(places).setdefault("env", []).append(
            {"name": f"TEXT_{rng.randrange(10**6)}", "value": word}
        )
    elif not owned:
        spec["engine"].setdefault("args", []).append(f"--x{rng.randrange(99)}={word}")
    else:
        rng.choice(owned)["args"] = [word]


def state(folder: Path, stack: str) -> tuple[Any, frozenset[str]]:
    """What an update cannot change in place or rolls unasked, without revisions, and the revisions."""
    documents = load_stack(folder, stack, base=folder)[0]
    rendered = desired(documents, Lock(stack=stack))
    found: list[Any] = []
    for cluster in rendered.clusters:
        for made in cluster.objects:
            manifest = made.manifest
            meta = manifest["metadata"]
            found.append((made.kind, meta["name"], meta.get("labels"), list(_ports(manifest))))
            if made.kind in ("Deployment", WORKER_SET):
                found += [
                    (template["metadata"]["labels"], template["spec"]["terminationGracePeriodSeconds"])
                    for template in templates_of(manifest)
                    if any(one["name"] == "engine" for one in template["spec"]["containers"])
                ]
    revisions = frozenset(placement.spot.revision for placement in rendered.plan.placements)
    texts = [repr(one) for one in found]
    for revision in revisions - {""}:
        # The name of a LeaderWorkerSet ends in a hash where it would end in a number.
        named = re.compile(rf"{revision}(-[0-9a-f]{{6}}\b)?")
        texts = [named.sub("REVISION", text) for text in texts]
    return sorted(texts), revisions


def _ports(value: Any) -> Iterator[Any]:
    """All ports that an object names."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key in ("port", "containerPort", "targetPort", "number"):
                yield inner
            yield from _ports(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _ports(inner)


def _copied(stack: str, folder: Path) -> Path:
    for part in ("stacks", "classes"):
        shutil.copytree(ROOT / part, folder / part)
    for lock in (folder / "stacks").glob("*/*.lock"):
        lock.unlink()
    return folder / "stacks" / stack


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_text_changes_no_name_label_port_or_grace_period(stack: str, seed: int, tmp_path: Path) -> None:
    """Ten edits each, 200 in all. Of deployments with prefill they make another set of pods, and no more."""
    files = _read(_copied(stack, tmp_path))
    before, revisions = state(tmp_path, stack)
    rng = random.Random(f"{stack} {seed}")
    specs = _specs(files)
    for _ in range(EDITS):
        edit_text(rng, rng.choice(specs))
    _write(files)
    after, others = state(tmp_path, stack)
    assert after == before
    assert len(others) == len(revisions)


def test_under_one_engine_revision_text_changes_nothing(tmp_path: Path) -> None:
    files = _read(_copied("disaggregated", tmp_path))
    specs = _specs(files)
    for spec in specs:
        spec["engine"]["revision"] = "1"
    _write(files)
    before = state(tmp_path, "disaggregated")
    rng = random.Random(1)
    for spec in specs:
        for _ in range(EDITS):
            edit_text(rng, spec)
    _write(files)
    assert state(tmp_path, "disaggregated") == before
