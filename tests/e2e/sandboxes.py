"""A project with a sandbox of its own: clusters that run, and a real engine."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from documents import Document
from project import Project, checkout

from inferfleet.documents import load
from sandbox import clusters
from sandbox.environment import environment
from sandbox.orphans.owner import claim
from sandbox.places import StackPlaces
from sandbox.toolchain.parts import EPP, LLM_D, LWS
from sandbox.toolchain.progress import Progress
from sandbox.toolchain.tools import Tools, make_tools


@contextmanager
def running(root: Path, stack: str, *documents: Document, with_vllm: bool = False) -> Iterator[Project]:
    """A project whose clusters run. The program in it is the one of this checkout."""
    plain = checkout(root, stack)
    plain.begin(clusters=documents)
    try:
        yield started(plain, with_vllm=with_vllm)[0]
    finally:
        clusters.down(root, stack)


def started(plain: Project, *, with_vllm: bool = False) -> tuple[Project, Tools]:
    """The project with its sandbox up, and an empty state."""
    root, stack = plain.root, plain.stack
    claim(StackPlaces(root, stack), os.getpid())
    tools = brought_up(plain, with_vllm=with_vllm)
    # CI locks stacks by default; the tests that are about it say so.
    outside = {name: value for name, value in os.environ.items() if name != "CI"}
    project = Project(root, stack, outside | environment(StackPlaces(root, stack), tools))
    created = project.run("pulumi", "stack", "select", "--create", stack)
    assert created.returncode == 0, created.stderr
    return project, tools


def brought_up(project: Project, *, with_vllm: bool = False) -> Tools:
    """The sandbox as the documents say now: clusters run, and have the nodes of their pools."""
    # Documents that need these may come later, and the project is not brought up again for each.
    make_tools(Progress(), (EPP, LLM_D, LWS))
    documents = load([project.documents], catalogue=project.root / "classes")
    return clusters.up(project.root, project.stack, documents, with_vllm=with_vllm)
