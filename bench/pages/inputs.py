"""The page docs/reference/provider-inputs.md: who decides each input of the resources of a cluster on GKE."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from inferfleet.cloud.gke import provider
from inferfleet.cloud.gke.facts.create_only import is_create_only
from inferfleet.cloud.gke.facts.schema import Field, resource
from inferfleet.cloud.gke.settings.passed import TOKENS, Passed, Title, decided
from inferfleet.documents.loading.stack import load_stack
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import Lock

_ROOT = Path(__file__).parents[2]
_INTRODUCTION = """\
Every input of Google's cluster and node pool, by its name in Pulumi's provider. Where fields of documents are
named, inferfleet decides it by these; where inferfleet is, it decides it by itself. All others pass, as they
are written, through `provider` of [clusters](inference-cluster.md), [classes](inference-class.md), pools."""
_HEAD = "| input | who decides it |\n|---|---|"


def page() -> Iterator[str]:
    """Yield the blocks of the page."""
    documents, _ = load_stack(_ROOT, "gke-demo")
    (cluster, *_), _ = provider.clusters(documents, Lock(stack="gke-demo"), Plan())
    yield _INTRODUCTION
    titles: dict[Title, Mapping[str, Any]] = {
        "Cluster": cluster.resource(cluster.key).inputs,
        "NodePool": next(iter(cluster.pools.values())).resource.inputs,
    }
    for title, own in titles.items():
        yield f"## {title}"
        passed = Passed(title, "", {}, own, "", "", "")
        rows = _rows(passed, resource(TOKENS[title]), "")
        yield "\n".join([_HEAD, *(f"| `{path}` | {who} |" for path, who in rows)])


def _rows(passed: Passed, fields: Mapping[str, Field], before: str) -> list[tuple[str, str]]:
    """Return who decides each input; a block of which one is true throughout is one row."""
    rows: list[tuple[str, str]] = []
    for name, field in fields.items():
        path = f"{before}{name}"
        inside = _rows(passed, field.fields, f"{path}.") or [(path, _who(passed, path))]
        alike = len({who for _, who in inside}) == 1
        rows += [] if field.output else [(path, inside[0][1])] if alike else inside
    return rows


def _who(passed: Passed, path: str) -> str:
    fields = decided(passed, path)
    if fields is None:
        replaces = is_create_only(TOKENS[passed.title], path)
        return "passes; a change replaces it" if replaces else "passes"
    return ", ".join(f"`{field}`" for field in fields) or "inferfleet"
