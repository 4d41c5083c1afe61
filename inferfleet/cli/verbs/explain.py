"""`inferfleet explain`: why a deployment runs where it does and what changed its pods; settings of a pool."""

from collections.abc import Iterable
from typing import Annotated

import typer

from inferfleet.cli.report import reporting
from inferfleet.cli.show import pool as pool_explanation
from inferfleet.cli.show.explanation import explanation, show
from inferfleet.cli.show.explanation_values import as_values
from inferfleet.cli.source import AsJson, Paths, StackName, read_source
from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import InvalidDocuments, Problem
from inferfleet.documents.wording import listing, one_of, shown

Thing = Annotated[
    str,
    typer.Argument(
        help="A deployment: NAMESPACE/NAME, or the name alone if it is unique; or a node pool that the stack "
        "creates: CLUSTER/POOL.",
        metavar="DEPLOYMENT|POOL",
    ),
]


def explain(thing: Thing, paths: Paths = None, stack: StackName = None, as_json: AsJson = False) -> None:
    """Explain a deployment: its shape, why it is placed there and not elsewhere, what plugins changed.

    Or a node pool: its settings in Google Cloud, the field behind each, and what another value would do.
    """
    with reporting(as_json=as_json) as report:
        source = read_source(paths, stack)
        report.documents = source.documents
        report.problems += source.notices
        desired = source.desired()
        report.problems += desired.warnings
        pools = pool_explanation.clouds(desired)
        if thing in pools and thing not in source.documents.deployments:
            report.values |= pool_explanation.as_values(thing, pools[thing])
            if not as_json:
                pool_explanation.show(thing, pools[thing])
            return
        key = _key(thing, source.documents, pools)
        explained = explanation(key, source.documents, source.lock, desired)
        report.values |= as_values(explained)
        if not as_json:
            show(explained)


def _key(name: str, documents: Documents, pools: Iterable[str]) -> str:
    known = documents.deployments
    if name in known:
        return name
    keys = sorted(key for key in known if key.partition("/")[2] == name)
    if len(keys) == 1:
        return keys[0]
    if keys:
        what = f"deployment {shown(name)!r} is in several namespaces"
        problem = Problem(what, f"Name one of {listing(keys)}")
    else:
        what = f"there is no deployment or GKE pool {shown(name)!r}"
        problem = Problem(what, one_of(name, [*known, *pools], "Known are"))
    raise InvalidDocuments([problem])
