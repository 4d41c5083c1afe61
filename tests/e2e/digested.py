"""The digest of an edit, made of documents alone, and what it claims that an update does."""

import tempfile
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import edits_of_workers_stack
import gke_edits_stack
import yaml
from fleet_of_one import TODAY
from gke_edits import Edit

from inferfleet.desired import desired
from inferfleet.desired.gate import lock_mismatch_problems
from inferfleet.documents import Documents, InvalidDocuments, Problem, load
from inferfleet.documents.kinds.settings import Settings
from inferfleet.fleet.lock.lock import Lock
from inferfleet.review.digest.comparison import stack_digest
from inferfleet.review.digest.update import Side, lock_after
from inferfleet.review.digest.values import StackDigest

STACKS = {"edits": gke_edits_stack.documents, edits_of_workers_stack.STACK: edits_of_workers_stack.documents}
# Refused by what only the cluster knows, so no digest can tell.
ON_CLUSTER = "KAI, which is not installed"
# Groups and providers of Pulumi: nothing on a cluster or in a cloud, so a digest has none of them.
GROUPS = {"GpuNodePool", "ModelEndpoint", "ModelReplicas", "kubernetes"}
Written = Mapping[str, Mapping[str, Any]]


def loaded(written: Iterable[Mapping[str, Any]], stack: str, **settings: Any) -> Documents:
    """Documents in one file `all.yaml`."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "all.yaml").write_text(yaml.safe_dump_all(written))
        settings = {"stack": stack, **settings}
        return load([folder], catalogue=None, settings=Settings(**settings), base=Path(folder))


def side(documents: Documents, lock: Lock | None = None, base: Side | None = None) -> Side:
    """A side of a stack; with a base, the head that leaves its lock alone."""
    known = lock_after(base, lock or (base.lock if base else Lock(stack=documents.settings.stack)))
    made = desired(documents, known)
    refused = tuple(lock_mismatch_problems(made, known)) if documents.settings.is_locked(ci=False) else ()
    return Side(documents, known, made, documents.notices, day=TODAY, lock_refused=refused)


@cache
def standing(stack: str) -> Side:
    """The stack that edits are made of, its lock written."""
    documents = loaded(STACKS[stack]().values(), stack)
    return side(documents, side(documents).desired.plan.lock)


def digested(edit: Edit, stack: str) -> StackDigest:
    base = standing(stack)
    head: Side | tuple[Problem, ...]
    try:
        head = side(loaded(edit.of(STACKS[stack]()).values(), stack), base=base)
    except InvalidDocuments as invalid:
        head = invalid.problems
    return stack_digest(stack, base, head)


def claims(stack: StackDigest) -> dict[str, str]:
    """What an update does with each resource, by kind and name; nothing where it is refused."""
    return {} if stack.state == "refused" else {made.resource: made.operation for made in stack.resources}


def without_groups(operations: Mapping[str, str]) -> dict[str, str]:
    """The operations of an engine, or of an Edit's plans, as far as a digest has them."""
    return {
        name: operation.partition(" ")[0]
        for name, operation in operations.items()
        if name.partition(" ")[0] not in GROUPS
    }
