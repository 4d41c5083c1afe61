"""`provider` of documents: inputs of Google's resources that are passed on in the words of Pulumi's provider.

Whatever inferfleet does not decide itself passes: the provider has some 800 inputs, and each that is missing
here would be a fork. What it decides is refused with the field that decides it. The provider's table of
fields says of the others which type they have and what their change does. One that it does not know is passed
on all the same, because the installed provider may be newer; what that refuses, it says in the preview.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from inferfleet.cloud.gke.described import DescribedCluster, DescribedPool
from inferfleet.cloud.gke.facts.change_table import fields_of
from inferfleet.cloud.gke.facts.create_only import is_create_only, leaves, recreates, without_places
from inferfleet.cloud.gke.facts.schema import (
    CLUSTER,
    NODE_POOL,
    SUBNETWORK,
    Field,
    Fields,
    lookup,
    resource,
)
from inferfleet.cloud.values import CloudCluster
from inferfleet.documents.kinds.gke import ClusterInputs
from inferfleet.documents.problems import Problem
from inferfleet.documents.wording import below, named, nearest, shown

# As the table of changes names the resources.
Title = Literal["Cluster", "NodePool", "SystemPool", "Subnetwork"]
TOKENS: Mapping[Title, str] = {
    "Cluster": CLUSTER,
    "NodePool": NODE_POOL,
    "SystemPool": NODE_POOL,
    "Subnetwork": SUBNETWORK,
}
# Inputs that say what other fields say, by these fields. Pools that a cluster has would be undone by those
# that are resources, and the other way round, without a word:
# https://www.pulumi.com/registry/packages/gcp/api-docs/container/cluster/#nodepools
_INSTEAD: Mapping[Title, Mapping[str, tuple[str, ...]]] = {
    "Cluster": {
        "nodePools": ("spec.nodePools of the InferenceCluster",),
        "nodeConfig": ("spec.cluster.gke.systemPool.provider.nodeConfig of the InferenceCluster",),
        "nodeVersion": ("provider.version of each pool",),
    },
    "NodePool": {
        "initialNodeCount": ("nodeCount of the pool", "minNodeCount of the pool"),
        "namePrefix": ("name of the pool",),
    },
    "SystemPool": {"namePrefix": ()},
    "Subnetwork": {},
}
# What fields of a cluster say for all of its pools, and each pool may say for itself.
OF_EACH_POOL = frozenset(f"nodeConfig.{name}" for name in ("bootDiskKmsKey", "serviceAccount", "tags"))
_PLAIN: Mapping[str, tuple[type, ...]] = {
    "String": (str,),
    "Int": (int,),
    "Float": (int, float),
    "Bool": (bool,),
}
_TYPES_IN_WORDS = {
    "String": "a text",
    "Int": "a whole number",
    "Float": "a number",
    "Bool": "true or false",
    "Map": "a map",
}


@dataclass(frozen=True)
class Passed:
    """Inputs that a document passes on to one resource, and where it has them."""

    title: Title
    thing: str
    """The resource in words: `pool h100 of cluster east`."""
    inputs: Mapping[str, Any]
    own: Mapping[str, Any]
    """The inputs of the resource that inferfleet decides."""
    kind: str
    key: str
    path: str

    @property
    def token(self) -> str:
        return TOKENS[self.title]

    def problem(self, path: str, what: str, next_step: str, **others: Any) -> Problem:
        """Return a problem with the input at a path, or with all of them at ""."""
        at = f"{self.path}.{path}" if path else self.path
        return Problem(what, next_step, at, kind=self.kind, key=self.key, **others)


def merged(inputs: Mapping[str, Any], passed: Mapping[str, Any]) -> dict[str, Any]:
    """Return inputs with those that are passed on beside them. What both have keeps its value."""
    result = dict(inputs)
    for name, value in passed.items():
        own = result.get(name)
        if isinstance(own, Mapping) and isinstance(value, Mapping):
            result[name] = merged(own, value)
        elif name not in result:
            result[name] = value
    return result


def with_passed(inputs: Mapping[str, Any], passed: Mapping[str, Any]) -> dict[str, Any]:
    """Return inputs of a pool with those that are passed on: what it may say for itself counts."""
    nodes = passed.get("nodeConfig")
    if not isinstance(nodes, Mapping):
        return merged(inputs, passed)
    own = {name: value for name, value in nodes.items() if f"nodeConfig.{name}" in OF_EACH_POOL}
    return merged({**inputs, "nodeConfig": inputs["nodeConfig"] | own}, passed)


def passed_problems(passed: Passed) -> Iterator[Problem]:
    """Yield inputs that inferfleet decides, that are none, or of another type; and a notice of the others."""
    rest = []
    for path, value in input_leaves(passed.token, passed.inputs):
        problems = list(_input_problems(passed, path, value))
        yield from problems
        if all(problem.severity != "error" for problem in problems):
            rest.append(f"{shown(path, 120)}{_effect(passed, path)}")
    if rest:
        what = f"{passed.thing} passes inputs on to Google Cloud as they are: {', '.join(rest)}"
        yield passed.problem("", what, "Nobody here judges what they do", severity="notice")


def input_leaves(token: str, inputs: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield inputs by path, into blocks as far as the table has fields of them."""
    yield from _leaves(resource(token), inputs, "")


def _leaves(fields: Fields, inputs: Mapping[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    for name, value in inputs.items():
        at, field = below(path, name), fields.get(name)
        blocks = [(at, value)] if isinstance(value, Mapping) else []
        if isinstance(value, list) and field and not field.single:
            blocks = [(f"{at}[{index}]", item) for index, item in enumerate(value)]
        if field and field.fields and blocks and all(isinstance(block, Mapping) for _, block in blocks):
            for to, block in blocks:
                yield from _leaves(field.fields, block, to)
        else:
            yield at, value


def _input_problems(passed: Passed, path: str, value: Any) -> Iterator[Problem]:
    plain = without_places(path)
    what = f"{passed.thing} passes on {path}"
    field = lookup(resource(passed.token), plain)
    if (fields := decided(passed, plain)) is not None:
        step = f"Write {' or '.join(fields)}" if fields else "Remove it"
        yield passed.problem(path, f"{what}, which inferfleet decides", step)
    elif field is None:
        yield _unknown(passed, path)
    elif field.output:
        yield passed.problem(path, f"{what}, which Google Cloud answers and takes from nobody", "Remove it")
    elif wrong := _type_wanted(field, value):
        yield passed.problem(path, f"{what}: {named(value)} is not {wrong}", f"Write {wrong}")


def decided(passed: Passed, path: str) -> tuple[str, ...] | None:
    """Return the fields of documents by which inferfleet decides an input, none where it is always the same;
    None for inputs that it does not decide.
    """
    if (instead := _INSTEAD[passed.title].get(path.partition(".")[0])) is not None:
        return instead
    if passed.token == NODE_POOL and path in OF_EACH_POOL:
        return None
    if rows := fields_of(f"{passed.title}.{path}"):
        return tuple(f"{row.path} of the {row.kind}" for row in rows)
    for own in leaves(passed.token, passed.own):
        own = without_places(own)
        if f"{path}.".startswith(f"{own}.") or f"{own}.".startswith(f"{path}."):
            return ()
    return None


def _unknown(passed: Passed, path: str) -> Problem:
    """Return a warning for an input that the table does not have, with the nearest name that it has."""
    before, _, name = without_places(path).rpartition(".")
    parent = lookup(resource(passed.token), before) if before else None
    near = nearest(name, parent.fields if parent else resource(passed.token) if not before else ())
    what = f"{passed.thing} passes on {path}, which the provider did not have when its inputs were listed"
    hint = f"Did you mean {near}? " if near else ""
    step = f"{hint}It is passed on as it is, and the preview shows what the provider says"
    return passed.problem(path, what, step, severity="warning")


def _type_wanted(field: Field, value: Any) -> str | None:
    """Return the type of a field in words where a value does not have it."""
    if field.type in ("List", "Set") and not field.single:
        items = value if isinstance(value, list) else None
        element = "Map" if field.fields else field.element or "String"
        if items is None or any(not _is(element, item) for item in items):
            return f"a list of which each is {_TYPES_IN_WORDS[element]}"
        return None
    kind = (
        "Map"
        if field.type in ("List", "Set") and field.fields
        else field.element
        if field.single
        else field.type
    )
    return None if _is(kind or "String", value) else _TYPES_IN_WORDS[kind or "String"]


def _is(kind: str, value: Any) -> bool:
    if kind == "Map":
        return isinstance(value, Mapping)
    # true and false are whole numbers in Python.
    return isinstance(value, _PLAIN[kind]) and (kind == "Bool" or not isinstance(value, bool))


def _effect(passed: Passed, path: str) -> str:
    """Return what a change of an input does where that is more than to change it in place."""
    if is_create_only(passed.token, without_places(path)):
        return " (a change replaces the resource)"
    return " (a change replaces the nodes)" if passed.token == NODE_POOL and recreates(path) else ""


def without_passed(cluster: DescribedCluster) -> DescribedCluster:
    """Return the cluster as it would be if its documents passed nothing on."""
    system_pool = cluster.gke.system_pool.model_copy(update={"provider": {}})
    gke = cluster.gke.model_copy(update={"provider": ClusterInputs(), "system_pool": system_pool})
    return replace(cluster, gke=gke, pools=tuple(_pool_without_passed(pool) for pool in cluster.pools))


def _pool_without_passed(pool: DescribedPool) -> DescribedPool:
    recipe = pool.gke_class.recipe.model_copy(update={"provider": {}})
    document = pool.document.model_copy(update={"provider": {}})
    return replace(pool, document=document, gke_class=replace(pool.gke_class, recipe=recipe))


def passed_on(cluster: DescribedCluster, bare: CloudCluster) -> Iterator[Passed]:
    """Yield what the documents of a cluster and of the classes of its pools pass on.

    `bare` is what inferfleet decides of it: the cluster as it is without what is passed on.
    """
    gke, name, at = cluster.gke, cluster.name, "spec.cluster.gke"
    own = {resource.key: resource.inputs for resource in bare.resources}
    subnetwork = next((key for key in own if key.startswith(f"{SUBNETWORK} ")), "")
    for_cluster: tuple[tuple[Title, str, Mapping[str, Any], str, str], ...] = (
        ("Cluster", bare.key, gke.provider.cluster, "cluster", "provider.cluster"),
        (
            "Subnetwork",
            subnetwork,
            gke.provider.subnetwork,
            "the subnetwork of cluster",
            "provider.subnetwork",
        ),
        (
            "SystemPool",
            bare.system_key,
            gke.system_pool.provider,
            "the system pool of cluster",
            "systemPool.provider",
        ),
    )
    for title, key, inputs, thing, path in for_cluster:
        if inputs and key:
            yield Passed(title, f"{thing} {name}", inputs, own[key], "InferenceCluster", name, f"{at}.{path}")
    classes: set[str] = set()
    for pool in cluster.pools:
        decided, gke_class = bare.pools[pool.name].resource.inputs, pool.gke_class
        if inputs := pool.document.provider:
            thing = f"pool {pool.name} of cluster {name}"
            yield Passed("NodePool", thing, inputs, decided, "InferenceCluster", name, pool.path("provider"))
        if (inputs := pool.gke_class.recipe.provider) and gke_class.name not in classes:
            classes.add(gke_class.name)
            thing, path = f"class {gke_class.name}", "spec.provisioning.gke.provider"
            yield Passed("NodePool", thing, inputs, decided, "InferenceClass", gke_class.name, path)
