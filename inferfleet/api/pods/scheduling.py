"""Rules of where pods go: selectors of labels, affinity, tolerations, spreading."""

from collections.abc import Iterator
from typing import Any

from inferfleet.api.pods.texts import LABEL_KEY, LABEL_VALUE, SUBDOMAIN
from inferfleet.api.problems import Mistake
from inferfleet.api.wording import shown


def label_requirement(requirement: dict[str, Any]) -> Iterator[Mistake]:
    """Yield values that an operator cannot have, or must."""
    yield from _operator(requirement)


def _operator(requirement: dict[str, Any]) -> Iterator[Mistake]:
    operator, values = requirement["operator"], requirement.get("values", [])
    if operator in ("In", "NotIn") and not values:
        yield Mistake(f"operator {operator} needs values", "Add values", ("values",))
    elif operator in ("Exists", "DoesNotExist") and values:
        yield Mistake(f"operator {operator} has no values", "Remove values", ("values",))
    elif operator in ("Gt", "Lt") and len(values) != 1:
        yield Mistake(
            f"operator {operator} needs exactly one value", "Write one number as a string", ("values",)
        )


def node_term(term: dict[str, Any]) -> Iterator[Mistake]:
    """Yield what is wrong with a term that selects nodes."""
    for place, requirement in enumerate(term.get("matchExpressions", [])):
        at = ("matchExpressions", place)
        if not LABEL_KEY.allows(requirement["key"]):
            what = f"{{field}} {shown(requirement['key'])!r} must be {LABEL_KEY.words}"
            yield Mistake(what, "Change it", (*at, "key"))
        for mistake in _operator(requirement):
            yield Mistake(mistake.what, mistake.next_step, (*at, *mistake.at))
    for place, requirement in enumerate(term.get("matchFields", [])):
        yield from _node_field(requirement, ("matchFields", place))


def _node_field(requirement: dict[str, Any], at: tuple[str | int, ...]) -> Iterator[Mistake]:
    values = requirement.get("values", [])
    if requirement["key"] != "metadata.name":
        what = f"{shown(requirement['key'])!r} is no field that nodes are selected by"
        yield Mistake(what, "Write metadata.name, or use matchExpressions", (*at, "key"))
    if requirement["operator"] not in ("In", "NotIn"):
        yield Mistake("operator of a field must be In or NotIn", "Write In", (*at, "operator"))
    elif len(values) != 1:
        yield Mistake("a field is selected by exactly one value", "Write one name", (*at, "values"))
    for place, value in enumerate(values):
        if not SUBDOMAIN.allows(value):
            yield Mistake(f"{shown(value)!r} is no name of a node", "Change it", (*at, "values", place))


def required_nodes(selector: dict[str, Any]) -> Iterator[Mistake]:
    """Yield values that no label can have. Where nodes are only preferred, they may be anything."""
    for term, terms in enumerate(selector["nodeSelectorTerms"]):
        for place, requirement in enumerate(terms.get("matchExpressions", [])):
            for number, value in enumerate(requirement.get("values", [])):
                if not LABEL_VALUE.allows(value):
                    at = ("nodeSelectorTerms", term, "matchExpressions", place, "values", number)
                    yield Mistake(f"{shown(value)!r} must be {LABEL_VALUE.words}", "Change it", at)


def pod_term(term: dict[str, Any]) -> Iterator[Mistake]:
    """Yield what is wrong with a term that selects pods."""
    yield from _keys(term, "matchLabelKeys", exclusive=True)
    yield from _keys(term, "mismatchLabelKeys", exclusive=False)
    for place, key in enumerate(term.get("matchLabelKeys", [])):
        if key in term.get("mismatchLabelKeys", []):
            what = f"{key} is in matchLabelKeys and in mismatchLabelKeys"
            yield Mistake(what, "Keep one of the two", ("matchLabelKeys", place))


def _keys(term: dict[str, Any], name: str, *, exclusive: bool) -> Iterator[Mistake]:
    selector = term.get("labelSelector")
    keys = term.get(name, [])
    if keys and selector is None:
        yield Mistake(f"{name} need a labelSelector beside them", "Add labelSelector", (name,))
    if not exclusive or selector is None:
        return
    taken = set(selector.get("matchLabels", {}))
    # The API server adds an expression for each of these keys, and then looks for keys that are there twice.
    for requirement in [*selector.get("matchExpressions", []), *({"key": key} for key in keys)]:
        if requirement["key"] in keys and requirement["key"] in taken:
            what = f"{requirement['key']} is in {name} and in labelSelector"
            yield Mistake(what, "Keep one of the two", (name, keys.index(requirement["key"])))
        taken.add(requirement["key"])


def toleration(tolerated: dict[str, Any]) -> Iterator[Mistake]:
    """Yield what contradicts itself in a toleration."""
    operator = tolerated.get("operator") or "Equal"
    value = tolerated.get("value", "")
    if not tolerated.get("key") and operator != "Exists":
        yield Mistake(
            f"a toleration with operator {operator} needs a key", "Add key, or use Exists", ("key",)
        )
    if operator == "Exists" and value:
        yield Mistake(
            "a toleration with operator Exists has no value", "Remove value, or use Equal", ("value",)
        )
    elif not LABEL_VALUE.allows(value):
        yield Mistake(f"{{field}} {shown(value)!r} must be {LABEL_VALUE.words}", "Change it", ("value",))
    if "tolerationSeconds" in tolerated and tolerated.get("effect") != "NoExecute":
        what = "tolerationSeconds is for the effect NoExecute alone"
        yield Mistake(what, "Write effect: NoExecute, or remove it", ("tolerationSeconds",))


def spread(constraint: dict[str, Any]) -> Iterator[Mistake]:
    """Yield what contradicts itself in a constraint of spreading."""
    if "minDomains" in constraint and constraint["whenUnsatisfiable"] != "DoNotSchedule":
        what = "minDomains is for whenUnsatisfiable: DoNotSchedule alone"
        yield Mistake(what, "Remove one of the two", ("minDomains",))
    yield from _keys(constraint, "matchLabelKeys", exclusive=True)


RULES = {
    "LabelSelectorRequirement": (label_requirement,),
    "NodeSelector": (required_nodes,),
    "NodeSelectorTerm": (node_term,),
    "PodAffinityTerm": (pod_term,),
    "Toleration": (toleration,),
    "TopologySpreadConstraint": (spread,),
}
