"""The page docs/changes.md: what a change of each field does, as people read it."""

from collections.abc import Iterable, Iterator, Mapping

from inferfleet.gke.facts.change_table import Row, field_table
from inferfleet.gke.facts.create_only import ALSO, NOT

_INTRODUCTION = """\
# What a change does in Google Cloud

Made from the program's own table by `make docs`; tests hold it against the settings that documents give and
against the provider's fields.

- **in place**: nodes and replicas that run are not touched.
- **in place, GKE replaces the nodes**: GKE replaces the nodes of the pool, some at a time; replicas on them
  restart. The plan says so.
- **replaces the pool**: the setting is immutable. A new pool is created under another name, and the old one
  is deleted. While replicas are placed on it, this is refused unless `spec.cluster.gke.replace.allow` of the
  cluster names the field (as in `accelerator.type` or `capacity.model`). With `replace.order: CreateFirst`
  (the default) the new nodes are created first, which needs capacity for both; with `DeleteFirst` there is a
  gap.
- **creates a pool**, **deletes the pool**, **creates another pool, deletes this one**: no other pool is
  touched. A pool with replicas on it is never deleted: that is refused.
- **refused**: it would be another cluster.

The plan compares with `placement.lock`, which records the immutable settings of clusters and pools, and those
whose change makes GKE replace nodes. Other changes in place (sizes, labels, taints, channels) are shown by
`pulumi preview` only.
"""
_CORRECTIONS = """\
## Where the provider's table alone is wrong

A change replaces a pool when the provider's table of fields says so (`forceNew`), with these exceptions:

| resource | setting | counts as | why |
|---|---|---|---|
"""


def page() -> str:
    """Return the whole page in Markdown."""
    rows = field_table()
    return "\n".join(
        [
            _INTRODUCTION,
            *_section("Fields of an InferenceClass", (row for row in rows if row.kind == "InferenceClass")),
            *_section(
                "Fields of an InferenceCluster", (row for row in rows if row.kind == "InferenceCluster")
            ),
            _CORRECTIONS + "\n".join([*_corrections("create-only", ALSO), *_corrections("nothing", NOT)]),
            "",
        ]
    )


def _section(title: str, rows: Iterable[Row]) -> Iterator[str]:
    yield f"## {title}\n"
    yield "| field | effect | why | settings |"
    yield "|---|---|---|---|"
    for row in rows:
        settings = ", ".join(f"`{path}`" for path in row.wire)
        yield f"| `{row.path}` | {row.effect} | {row.why} | {settings} |"
    yield ""


def _corrections(meaning: str, reasons: Mapping[tuple[str, str], str]) -> Iterator[str]:
    for (token, path), why in reasons.items():
        yield f"| {token.rpartition(':')[2]} | `{path}` | {meaning} | {why} |"
