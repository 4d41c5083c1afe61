"""`inferfleet explain`: why a deployment runs where it does, who changed its pods, why a pool looks so."""

from collections.abc import Iterable
from typing import Annotated

import typer

from inferfleet.api.documents import Documents
from inferfleet.api.problems import InvalidDocuments, Problem
from inferfleet.api.wording import one_of
from inferfleet.cli.report import reporting
from inferfleet.cli.show import pool as pool_explanation
from inferfleet.cli.show.explanation import Explanation, as_values, explanation, show
from inferfleet.cli.source import AsJson, Paths, StackName, read_source

Thing = Annotated[
    str,
    typer.Argument(
        help="A deployment: NAMESPACE/NAME, or the name alone if it is unique; or a pool that the stack "
        "creates: CLUSTER/POOL.",
        metavar="DEPLOYMENT|POOL",
    ),
]


def explain(thing: Thing, paths: Paths = None, stack: StackName = None, as_json: AsJson = False) -> None:
    """Explain one deployment: its shape, why it is placed there and not elsewhere, what plugins changed.

    Or a pool: every setting of it in Google Cloud, the field it comes from, and what another value would do.
    """
    with reporting(as_json=as_json) as report:
        source = read_source(paths, stack)
        report.documents = source.documents
        desired = source.desired()
        pools = pool_explanation.clouds(desired)
        if thing in pools and thing not in source.documents.deployments:
            report.values |= pool_explanation.as_values(thing, pools[thing])
            if not as_json:
                pool_explanation.show(thing, pools[thing])
            return
        key = _key(thing, source.documents, pools)
        found: Explanation = explanation(key, source.documents, source.lock, desired)
        report.values |= as_values(found)
        if not as_json:
            show(found)


def _key(name: str, documents: Documents, pools: Iterable[str]) -> str:
    known = documents.deployments
    if name in known:
        return name
    found = sorted(key for key in known if key.partition("/")[2] == name)
    if len(found) == 1:
        return found[0]
    if found:
        problem = Problem(f"deployment {name!r} is in several namespaces", f"Name one of {', '.join(found)}")
    else:
        what = f"there is no deployment or pool of GKE {name!r}"
        problem = Problem(what, one_of(name, [*known, *pools], "Known are"))
    raise InvalidDocuments([problem])
