"""Whether nodes of a pool can meet the node affinity that a pod requires, by the labels known of them.

Of most labels of nodes nothing is known, and nothing is said: a requirement counts as met where the label is
not known, or where one of the values that nodes of the pool may have meets it.
"""

from collections.abc import Collection, Mapping
from typing import Any

from inferfleet.documents.wording import shown

# Labels of the nodes of a pool: each node has one of the values.
Labels = Mapping[str, Collection[str]]
REQUIRED = ("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")


def excluded(spec: Mapping[str, Any], known: Labels) -> str | None:
    """Return what a pod requires of nodes that none with these labels meets, or None. Its shape is right."""
    required = spec.get("affinity", {}).get("nodeAffinity", {}).get(REQUIRED[-1])
    if required is None:
        return None
    # What the selector asks for, the affinity can rely on, also of labels that are not known.
    labels = {key: {value} for key, value in spec.get("nodeSelector", {}).items()} | dict(known)
    refused = [_refused(term, labels) for term in required["nodeSelectorTerms"]]
    return "; or ".join(dict.fromkeys(text for text in refused if text)) if all(refused) else None


def _refused(term: Mapping[str, Any], known: Labels) -> str | None:
    """Return the requirement of a term that no node meets, with what nodes have, or None."""
    expressions = term.get("matchExpressions", [])
    if not expressions and not term.get("matchFields"):
        return "an empty term, which takes no node"
    left = {key: set(values) for key, values in known.items()}
    for wanted in expressions:
        key, before = wanted["key"], left.get(wanted["key"])
        if before is None:
            continue
        left[key] = {value for value in before if _meets(value, wanted)}
        if not left[key]:
            has = _either(known[key])
            return f"{key} {' '.join([wanted['operator'], _listed(wanted)]).rstrip()} (nodes have {has})"
    return None


def _meets(value: str, wanted: Mapping[str, Any]) -> bool:
    """Return whether a label with the value meets a requirement, as kube-scheduler compares them."""
    operator, values = wanted["operator"], wanted.get("values", [])
    if operator == "In":
        return value in values
    if operator == "NotIn":
        return value not in values
    if operator in ("Gt", "Lt"):
        try:
            number, limit = int(value), int(values[0])
        except (ValueError, IndexError):
            return False
        return number > limit if operator == "Gt" else number < limit
    return bool(operator == "Exists")


def _listed(wanted: Mapping[str, Any]) -> str:
    return ", ".join(shown(value) for value in wanted.get("values", []))


def _either(values: Collection[str]) -> str:
    return " or ".join(sorted(values))
