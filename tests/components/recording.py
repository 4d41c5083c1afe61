"""A mock in place of the engine: it answers every registration, and remembers all of it."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

import pulumi
from pulumi.runtime import mocks
from pulumi.runtime.proto import resource_pb2

from inferfleet.components.provider import cluster_provider
from inferfleet.components.registration import Registered, Surroundings, register
from inferfleet.desired.values import Confirm, Desired, HookOutcome, KubeObject, ReadyHook, Say
from inferfleet.documents.problems import Problem
from inferfleet.serving.gateway import Address


class Recorder(mocks.Mocks):
    """Answers with the inputs, and with what `answers` adds by type. A lookup is a mistake."""

    def __init__(self, answers: Mapping[str, dict[str, Any]]) -> None:
        self.inputs: dict[tuple[str, str], dict[str, Any]] = {}
        self.outputs: dict[str, Any] = {}
        self.answers = answers

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        self.inputs[args.typ, args.name] = args.inputs
        return f"{args.name}-id", args.inputs | self.answers.get(args.typ, {})

    def call(self, args: mocks.MockCallArgs) -> dict[str, Any]:
        raise AssertionError(f"a component looked something up: {args.token}")


class Monitor(mocks.MockMonitor):
    """Also remembers the options that mocks are not shown; resources named in `failing` fail."""

    def __init__(self, recorder: Recorder, failing: Collection[str]) -> None:
        super().__init__(recorder)
        self.failing = failing
        self.requests: dict[tuple[str, str], Any] = {}
        self.hooks: dict[str, Any] = {}

    def RegisterResourceHook(self, request: Any) -> Any:  # noqa: N802 (the name of the call)
        self.hooks[request.name] = request
        return super().RegisterResourceHook(request)

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 (the name of the call)
        self.requests[request.type, request.name] = request
        answer = super().RegisterResource(request)
        if request.name in self.failing:
            answer.result = resource_pb2.Result.FAIL
        return answer


async def told(hook: ReadyHook) -> HookOutcome:
    """What calling a ready hook is in a test that is about registering."""
    return HookOutcome(hook.name)


async def heard(workload: KubeObject, warn: Say, fail: Say) -> None:
    """Nothing: with mocks no pods say anything."""


async def served(item: KubeObject) -> str | None:
    """Nothing: with mocks all is served at once."""
    return None


async def confirmed(cluster: str) -> tuple[Problem, ...]:
    """Nothing: with mocks no gateway says anything."""
    return ()


def run(
    desired: Desired,
    *,
    preview: bool,
    answers: Mapping[str, dict[str, Any]] | None = None,
    theirs: Mapping[str, Address] | None = None,
    failing: Collection[str] = (),
    kubeconfigs: Mapping[str, str] = {"east": "text of a kubeconfig"},
    confirm: Confirm = confirmed,
    prefix: str = "",
) -> tuple[Recorder, Monitor]:
    """The whole stack registered; `answers` come in updates only, a preview of new resources knows none."""

    def program() -> Mapping[str, Any]:
        fleet = pulumi.ComponentResource("inferfleet:components:Fleet", "local")
        registered: asyncio.Future[Registered] = asyncio.Future()
        found = pulumi.Output.from_input(registered)
        providers = {
            connection.cluster: cluster_provider(
                prefix + connection.cluster,
                connection.identifier,
                found.apply(lambda made, name=connection.cluster: made.kubeconfigs[name]),  # type: ignore[misc]
                state=connection.state,
                context=connection.context,
                parent=fleet,
            )
            for connection in (cluster.connection for cluster in desired.clusters)
        }
        surroundings = Surroundings(
            prefix=prefix,
            providers=providers,
            kubeconfigs=kubeconfigs,
            addresses=theirs or {},
            after={},
            secrets={("ml", "token"): {"key": pulumi.Output.secret("czNjcjN0")}},
            tell=told,
            listen=heard,
            await_served=served,
            confirm=confirm,
            preview=preview,
        )
        registered.set_result(register(fleet, desired, surroundings))
        return registered.result().outputs

    return ran(program, preview=preview, answers=answers, failing=failing)


def ran(
    program: Callable[[], Mapping[str, Any]],
    *,
    preview: bool,
    answers: Mapping[str, dict[str, Any]] | None = None,
    failing: Collection[str] = (),
    stack: str = "local",
    recorder: Recorder | None = None,
) -> tuple[Recorder, Monitor]:
    """A program that ran to its end, and the outputs that it returns."""
    recorder = recorder or Recorder({} if preview else answers or {})
    monitor = Monitor(recorder, failing)
    # Mocks want a loop, and a test with asyncio.run before this one left the thread without.
    asyncio.set_event_loop(asyncio.new_event_loop())
    # They keep the stack of whoever used them before.
    pulumi.runtime.settings.set_root_resource(None)
    pulumi.runtime.set_mocks(recorder, project="inferfleet", stack=stack, preview=preview, monitor=monitor)

    def remember(name: str, output: Any) -> None:
        recorder.outputs[name] = output

    @pulumi.runtime.test
    def whole() -> None:
        for name, output in program().items():
            pulumi.Output.from_input(output).apply(partial(remember, name))

    whole()
    return recorder, monitor


def own(urn: str) -> tuple[str, str]:
    """Type and name in a URN, without the types of its parents."""
    *_, types, name = urn.split("::")
    return types.rpartition("$")[2], name
