"""The check of objects that plugins add beside a workload: by the types of their kinds, and their names.

Of a kind that the table lacks, such as a custom resource, only the metadata is checked.
"""

from collections.abc import Iterator
from typing import Any

from inferfleet.documents.pods import schema
from inferfleet.documents.pods.shape import Walk
from inferfleet.documents.pods.texts import DNS_LABEL, SUBDOMAIN
from inferfleet.documents.problems import Mistake
from inferfleet.documents.wording import shown


def object_mistakes(manifest: dict[str, Any]) -> Iterator[Mistake]:
    """Yield every mistake of an object, without values of a Secret."""
    kind, version = manifest["kind"], manifest["apiVersion"]
    known = schema.api_version(kind)
    if known is not None and version != known and _is_built_in(version):
        yield Mistake(f"a {kind} has the apiVersion {known}", f"Write {known}", ("apiVersion",))
        return
    walk = Walk()
    if known == version:
        kept = walk.of(manifest, kind)
        name, text = kept.get("metadata", {}).get("name", ""), DNS_LABEL if kind == "Service" else SUBDOMAIN
        if not text.allows(name):
            what = f"{{field}} {shown(name)!r} must be {text.words}"
            walk.mistakes.append(Mistake(what, "Shorten it", ("metadata", "name")))
    else:
        walk.of(manifest.get("metadata", {}), "ObjectMeta", ("metadata",))
    for mistake in walk.mistakes:
        yield _without_value(mistake) if kind == "Secret" else mistake


def _is_built_in(api_version: str) -> bool:
    group, slash, _ = api_version.rpartition("/")
    return not slash or "." not in group or group.endswith(".k8s.io")


def _without_value(mistake: Mistake) -> Mistake:
    if mistake.at[:1] not in (("data",), ("stringData",)):
        return mistake
    words = "text in base64" if mistake.at[0] == "data" else "text in quotes"
    return Mistake(f"{{field}} must be a {words}", "Correct it", mistake.at)
