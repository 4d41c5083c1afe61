"""Ready hooks while an update runs: each is called within a time limit, and an Event at its workload says so.

Hooks run one after another, whichever workload is ready first: plugins need not be safe for threads.
"""

import asyncio
import contextvars
import copy
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from inferfleet.clusters.connections.api import Api, NoAnswerError, served_kinds
from inferfleet.clusters.connections.ask import ask
from inferfleet.clusters.connections.gke import NotThere
from inferfleet.clusters.connections.questions import Questions
from inferfleet.desired.values import CallHook, Connection, Desired, HookOutcome, KubeObject, ReadyHook
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.documents.wording import one_line, shown
from inferfleet.plugins.calling import HEED_OUTPUT, call, capture_output, file_of, shortened, text_of
from inferfleet.plugins.contract import PluginError, Ready, ReadyFunction
from inferfleet.plugins.link import BoundLink
from inferfleet.serving.metadata import Reason, event

# A hook announces a model or asks it something. An update must end, also when a hook waits for ever.
SECONDS = 300.0
EVENT_SECONDS = 10.0
# Characters of a sentence. The note of an Event has at most 1,024 bytes.
_LONGEST = 240
# The thread of all hooks, of every Fleet of the process, whose output is captured for the hook that runs.
_THREAD = ThreadPoolExecutor(max_workers=1)
_AGAIN = "The workload itself is up to date. Mend the plugin: the next update calls it again"


def hook_caller(
    desired: Desired, kubeconfigs: Mapping[str, str], *, container_api: str, seconds: float = SECONDS
) -> CallHook:
    """Return the function that calls a ready hook within `seconds`.

    `kubeconfigs` holds texts by existing cluster. The Container API at the address `container_api` says where
    the others are.
    """
    without_events: set[str] = set()
    event = partial(
        add_event, desired, kubeconfigs=kubeconfigs, container_api=container_api, seconds=EVENT_SECONDS
    )

    def answer(hook: ReadyHook) -> HookOutcome:
        said: list[str] = []
        sentences, failure = _called(hook, seconds, said)
        words = "; ".join(sentences) or "was told that the pods are ready"
        note = failure.what if failure else f"{_title(hook)}: {words}"
        reason: Reason = "PluginFailed" if failure else "PluginReady"
        cluster = hook.request.cluster.name
        warning = None if cluster in without_events else event(cluster, hook.workload, reason, one_line(note))
        if warning:
            without_events.add(cluster)
        return HookOutcome(
            one_line(f"{note} ({hook.pods})"),
            (*_output_problems(hook, said), *((warning,) if warning else ())),
            str(_at_pods(failure, hook)) if failure else None,
        )

    async def tell(hook: ReadyHook) -> HookOutcome:
        # Also while an Event is written, because what the client logs would count as said by the next hook.
        context = contextvars.copy_context()
        return await asyncio.get_running_loop().run_in_executor(_THREAD, context.run, answer, hook)

    return tell


def _title(hook: ReadyHook) -> str:
    return f"plugin {hook.plugin.name} {hook.plugin.version}"


def _called(hook: ReadyHook, seconds: float, said: list[str]) -> tuple[tuple[str, ...], Problem | None]:
    """Call the hook, add to `said` what it prints, logs and warns of, and return what it says and what is
    wrong.
    """
    called = Questions({hook.name: partial(_sentences, hook, said)})
    try:
        answers = called.answers(until=time.monotonic() + seconds)
    except PluginError as error:
        return (), _failure(hook, str(error))
    except KeyboardInterrupt:
        # Raised by the hook: an interrupt from outside reaches the main thread alone.
        return (), _failure(hook, "raised KeyboardInterrupt")
    if hook.name in answers:
        return answers[hook.name], None
    return (), _failure(hook, f"did not come back within {seconds:.0f} s")


def _sentences(hook: ReadyHook, said: list[str]) -> tuple[str, ...]:
    """Call the plugin for each link, and return what it says, on one line each.

    Raises PluginError with the line of the plugin that raised or exited.
    """
    sentences = []
    for bound in hook.links:
        if bound.plugin.ready is not None:
            with capture_output(said):
                sentence = _sentence(bound.plugin.ready, hook, bound)
            if sentence is not None and not isinstance(sentence, str):
                raise PluginError(f"returned {sentence!r:.60}, but ready returns a sentence or nothing")
            if sentence:
                sentences.append(shown(" ".join(sentence.split()), _LONGEST))
    return tuple(sentences)


def _sentence(function: ReadyFunction, hook: ReadyHook, bound: BoundLink) -> Any:
    ready = Ready(hook.request, copy.deepcopy(hook.workload.manifest))
    # What a hook changes in its config must not be told to the hook of the next workload.
    config = bound.config.model_copy(deep=True)
    return call(lambda: function(ready, config), file=file_of(function))


def _output_problems(hook: ReadyHook, said: list[str]) -> Iterator[Problem]:
    """Yield the warning of what a hook printed, logged and warned of."""
    if text := text_of(said):
        yield replace(_problem(hook, f" says: {text} ({hook.pods})", HEED_OUTPUT), severity="warning")


def _failure(hook: ReadyHook, what: str) -> Problem:
    return _problem(hook, f": {shortened(what.rstrip('.'))}", _AGAIN)


def _at_pods(failure: Problem, hook: ReadyHook) -> Problem:
    return replace(failure, what=f"{failure.what} ({hook.pods})")


def _problem(hook: ReadyHook, what: str, next_step: str) -> Problem:
    link = hook.links[0].link
    whole = f"{_title(hook)} OnReady{what}"
    return Problem(whole, next_step, link.path, link.where, link.kind, link.key)


# Events at workloads: the only objects that are written to a cluster without Pulumi.
#
# An Event is no part of what is desired. It says what an update did, no other object depends on it, and the
# API server deletes it after an hour. In the state of a stack it would be missing from then on.
#

_KUBECONFIG = "Give its document a kubeconfig that this run can use"


def add_event(
    desired: Desired,
    cluster: str,
    workload: KubeObject,
    reason: Reason,
    note: str,
    *,
    kubeconfigs: Mapping[str, str],
    container_api: str,
    seconds: float,
) -> Problem | None:
    """Add an Event at a workload, and return why there is none, as a warning.

    The Container API at the address `container_api` says where a cluster is that the stack creates.
    """
    one_cluster = tuple(
        candidate for candidate in desired.clusters if candidate.connection.cluster == cluster
    )
    answers = ask(
        replace(desired, clusters=one_cluster),
        kubeconfigs,
        partial(_add, workload, reason, note),
        container_api=container_api,
        seconds=seconds,
    )
    if cluster not in answers:
        why, step = "the run has no kubeconfig of it", _KUBECONFIG
    else:
        match answers[cluster]:
            case None:
                return None
            case NotThere(why=said):
                why, step = said, "`pulumi up` creates it"
            case Problem(what=said, next_step=following):
                why, step = said, following
    what = f"no Event was written at {workload.kind} {workload.name} ({note}): {why}"
    return cluster_problem(cluster, what, step, severity="warning")


def _add(workload: KubeObject, reason: Reason, note: str, _: Connection, api: Api) -> None:
    kind = (workload.api_version, workload.kind)
    resource = served_kinds(api, [kind]).get(kind)
    if resource is None:
        raise NoAnswerError(f"it does not serve {kind[1]} of {kind[0]}")
    live: dict[str, Any] = api.get(resource.path(workload.namespace, workload.kubernetes_name))
    api.add_event(live["metadata"]["namespace"], event(reason, note, regarding=live, at=datetime.now(UTC)))
