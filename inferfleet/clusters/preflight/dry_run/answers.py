"""What the answers of an API server mean to whoever wrote the documents, in its own words."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from inferfleet.clusters.connections.api import Api, NoAnswerError, RefusedError
from inferfleet.clusters.connections.dry_run import dry_runs
from inferfleet.clusters.connections.gke import path_of
from inferfleet.clusters.connections.resources import ApiKind, ApiResource
from inferfleet.clusters.preflight.checks import install
from inferfleet.clusters.preflight.dry_run.fields import document_field
from inferfleet.clusters.preflight.dry_run.objects import Write, writes
from inferfleet.clusters.preflight.ownership import ExistingObject
from inferfleet.desired.values import DesiredCluster
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.problems import Problem, Severity, cluster_problem
from inferfleet.documents.wording import listing
from inferfleet.serving.pod.parts import containers
from inferfleet.serving.pod.plain_secrets import in_container
from inferfleet.serving.workload import templates_of

_NAMED = 3
# Characters: webhooks may quote whole objects.
_LONGEST = 1000
# What the API server does not say of the object, but of itself at this moment.
_BUSY = (429, 503, 504)
# Words of API servers by which pulumi-kubernetes 4.25 decides too: isDryRunDisabledError in
# provider/pkg/provider/provider.go, and FieldImmutableErrorMsg in its Creation, provider/pkg/await/await.go.
_NO_DRY_RUN = "does not support dry run"
_IMMUTABLE = "field is immutable"
# The API server's own words for a field that a schema does not have, whoever may write where.
_SCHEMA = "typed patch object"
_HELD = "(not shown)"


@dataclass(frozen=True)
class _Refusal:
    """What a server says to one object: of which field, "" for the whole of it, and whether that is because
    its kind has no such field (`of_schema`).
    """

    write: Write
    field: str
    words: str
    next_step: str
    severity: Severity = "error"
    of_schema: bool = False


def refused_writes(
    api: Api,
    cluster: DesiredCluster,
    stack: str,
    existing: Iterable[ExistingObject],
    resources: Mapping[ApiKind, ApiResource],
    deployments: Mapping[str, ModelDeployment],
) -> Iterator[Problem]:
    """Yield what the API server of a cluster refuses of what an update writes there, at the line that it
    comes from, and one line each for what could not be asked. One request per object that changes.
    """
    asked = list(writes(cluster, stack, existing, resources))
    refusals: list[_Refusal] = []
    forbidden: list[Write] = []
    silent: list[Write] = []
    by_webhook: dict[str, list[Write]] = {}
    may = _asked_once(api)
    for write, answer in zip(asked, dry_runs(api, [each.dry_run for each in asked]), strict=True):
        if isinstance(answer, NoAnswerError):
            silent.append(write)
        elif answer is not None:
            status = _status(answer)
            words = _shown(str(status.get("message") or f"status {answer.status}"), write)
            if answer.status in _BUSY:
                silent.append(write)
            elif answer.status == 400 and _NO_DRY_RUN in words:
                by_webhook.setdefault(words, []).append(write)
            elif answer.status == 403 and not may(write):
                forbidden.append(write)
            else:
                refusals += _refusals(write, answer.status, status, words)
    if cluster.connection.cloud:
        # Google brings newer CRDs with the versions of its clusters, maybe in this very update.
        refusals = [replace(each, severity="warning") if each.of_schema else each for each in refusals]
    yield from _problems(cluster.connection.cluster, refusals, deployments)
    yield from _not_asked(cluster, forbidden, silent, by_webhook)


def _asked_once(api: Api) -> Callable[[Write], bool]:
    """Return whether the credentials may write an object, asked once per kind and namespace."""

    @cache
    def may(verbs: tuple[str, ...], group: str, plural: str, namespace: str) -> bool:
        try:
            return all(api.may(verb, group, plural, namespace) for verb in verbs)
        except (RefusedError, NoAnswerError):
            return False

    def may_write(write: Write) -> bool:
        verbs = ("patch", "create") if write.is_new else ("patch",)
        group, _, _ = write.object.api_version.rpartition("/")
        namespace = str(write.dry_run.manifest["metadata"].get("namespace") or "")
        return may(verbs, group, write.resource.plural, namespace)

    return may_write


def _status(refused: RefusedError) -> dict[str, Any]:
    try:
        status = json.loads(refused.body)
    except ValueError:
        return {"message": refused.body.strip()[:500]}
    return status if isinstance(status, dict) else {}


def _refusals(write: Write, code: int, status: Mapping[str, Any], words: str) -> Iterator[_Refusal]:
    """Yield what a status of an API server says of an object: of each field that it names, or as a whole.
    In another namespace than its own only what is said of its form counts.
    """
    causes = (status.get("details") or {}).get("causes") or ()
    by_field = [
        (str(cause["field"]), _shown(str(cause["message"]), write)) for cause in causes if _has(cause)
    ]
    if by_field and len(by_field) == len(causes) and code != 409:
        for field, said in by_field:
            if not said.endswith(_IMMUTABLE):
                yield _Refusal(write, field, said, "Correct it")
            elif not write.elsewhere:
                yield _Refusal(
                    write,
                    field,
                    said,
                    "Where the preview says `replace`, it is deleted and made anew; where it does not, the "
                    "update fails, and the field must stay",
                    "warning",
                )
    elif _SCHEMA in words:
        step = "Correct it"
        if "." in write.object.api_version.partition("/")[0]:
            step = f"{install(write.object.api_version)}, if its CRDs are too old, or correct it"
        for path, said in tuple(_of_schema(words)) or (("", words),):
            yield _Refusal(write, path, said, step, of_schema=True)
    elif not write.elsewhere:
        step = "Change what it names, or have whoever keeps this rule on the cluster change it"
        if code == 409:
            step = (
                "Let whoever has set it give it up (`kubectl get --show-managed-fields -o yaml` shows who), "
                "or leave it out here"
            )
        yield _Refusal(write, "", words, step)


def _has(cause: Mapping[str, Any]) -> bool:
    return bool(cause.get("field") and cause.get("message"))


def _of_schema(words: str) -> Iterator[tuple[str, str]]:
    """Yield fields and what is said of them: `failed to create typed patch object (ml/web; apps/v1,
    Kind=Deployment): .spec.x: field not declared in schema`, of several each on a line after `errors:`.
    """
    _, _, said = words.partition("): ")
    for line in said.removeprefix("errors:").splitlines():
        path, _, rest = line.strip().partition(": ")
        if rest:
            yield path.removeprefix("."), rest


def _problems(
    cluster: str, refusals: Iterable[_Refusal], deployments: Mapping[str, ModelDeployment]
) -> Iterator[Problem]:
    """Yield one problem for all objects of a kind to which the same is said, at the line of the first."""
    alike: dict[tuple[str, ...], list[_Refusal]] = {}
    for refusal in refusals:
        made = refusal.write.object
        words = refusal.words.replace(f'"{made.kubernetes_name}"', "")
        alike.setdefault((made.kind, refusal.field, words, refusal.next_step), []).append(refusal)
    for first, *others in alike.values():
        kind, key, path = document_field(first.write.object, cluster, first.field, deployments)
        of_field = f"{first.field} of " if first.field else ""
        more = f" (and {listing((each.write.name for each in others), _NAMED)})" if others else ""
        yield Problem(
            f"the API server of cluster {cluster!r} refuses {of_field}{first.write.name}{more}: "
            f"{_in_short(first.words)}",
            first.next_step,
            path,
            kind=kind,
            key=key,
            severity=first.severity,
        )


def _not_asked(
    cluster: DesiredCluster,
    forbidden: list[Write],
    silent: list[Write],
    by_webhook: Mapping[str, list[Write]],
) -> Iterator[Problem]:
    name, path = cluster.connection.cluster, path_of(cluster.connection)
    if forbidden:
        kinds = listing(sorted({write.resource.plural for write in forbidden}))
        yield cluster_problem(
            name,
            f"the credentials of cluster {name!r} may not patch or create {kinds}, so its API server was not "
            f"asked about {_objects(forbidden)}",
            "Leave it so where they must not write: an update asks before it writes anything. Else give them "
            "these verbs, without which there is no dry run",
            path,
            severity="warning",
        )
    if silent:
        yield cluster_problem(
            name,
            f"the API server of cluster {name!r} did not say in time whether it takes {_objects(silent)}",
            "Try again; an update asks it in any case",
            path,
            severity="warning",
        )
    for words, ones in by_webhook.items():
        yield cluster_problem(
            name,
            f"cluster {name!r} was not asked about {_objects(ones)}: {words}",
            "Updates go through it as always; a webhook that declares sideEffects: None is asked before",
            path,
            severity="notice",
        )


def _objects(those: list[Write]) -> str:
    number = f"{len(those)} object{'' if len(those) == 1 else 's'} that an update writes"
    return f"{number} ({listing((write.name for write in those), _NAMED)})"


def _in_short(words: str) -> str:
    """Return the words of somebody else as part of a sentence."""
    line = " ".join(words.split()).removesuffix(".")
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def _shown(words: str, write: Write) -> str:
    """Return words without secrets that an object has in plain text: servers quote values."""
    for secret in sorted(_secrets(write.object.manifest), key=len, reverse=True):
        words = words.replace(secret, _HELD)
    return words


def _secrets(manifest: Mapping[str, Any]) -> Iterator[str]:
    spec = manifest.get("spec") or {}
    if not isinstance(spec, Mapping) or not {"template", "leaderWorkerTemplate"} & spec.keys():
        return
    for template in templates_of(manifest):
        for _, container in containers(template.get("spec") or {}):
            yield from (text for _, _, text, _ in in_container(container))
