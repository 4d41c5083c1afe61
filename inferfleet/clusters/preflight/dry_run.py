"""What API servers say to the objects that an update would write, before it writes them.

Objects that are new and those that change are shown to the API server, which keeps nothing. An object changes
where it lacks what is wanted, or has what an update wrote and nobody wants any longer. What others alone have
set meanwhile is no change: an update, which compares with what it wrote before, leaves it. Secrets are left
out: only Pulumi knows their values. Into a namespace that does not exist yet nothing can be written, not even
for a try, so what goes there is shown in `default`. Whether an object is well formed does not depend on its
namespace; what else is said there counts for nothing.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from inferfleet.clusters.connections.api import Api, ApiKind, ApiResource, NoAnswerError, RefusedError
from inferfleet.clusters.connections.gke import path_of
from inferfleet.clusters.connections.questions import in_parallel
from inferfleet.clusters.preflight.addons import unserved
from inferfleet.clusters.preflight.ownership import ExistingObject, is_ours
from inferfleet.clusters.preflight.prerequisites import install
from inferfleet.desired.values import DesiredCluster, KubeObject, titled
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.workers import Position
from inferfleet.documents.pods.template import containers_of
from inferfleet.documents.problems import FieldPath, Problem, Severity, cluster_problem, part_of
from inferfleet.documents.wording import listing
from inferfleet.documents.wording import path_of as path_in_document
from inferfleet.fleet.names import DEPLOYMENT, FRONT_DOOR, REPLICAS, ROLE, SERVICE
from inferfleet.fleet.roles import path_of_role, template_path, workers_of
from inferfleet.serving.comparison import differences
from inferfleet.serving.picker import deployment_of
from inferfleet.serving.pod.plain_secrets import in_container
from inferfleet.serving.workload import PATCH_FORCE, templates_of

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
_HIDDEN = "(not shown)"
STAND_IN = "default"
# Each object has a field manager of its own that begins so (fieldManagerName in pulumi-kubernetes v4.25.0,
# provider/pkg/provider/provider.go), which a new one gets with its first update.
_PULUMI = "pulumi-kubernetes"
# An update takes over what these have set (fixCSAFieldManagers in provider/pkg/await/await.go).
_TAKEN_OVER = ("kubectl", "before-first-apply")
_OF_ENGINE = "pulumi.com/"
# A step is a key after a dot, or in brackets a number, a key, or the name that an entry has.
_STEP = re.compile(r'\.?([^.\[\]]+)|\[(\d+)\]|\[name="([^"]*)"\]|\[([^\]]*)\]')
_TEMPLATES: tuple[tuple[FieldPath, Position], ...] = (
    (("spec", "template"), "Entry"),
    (("spec", "leaderWorkerTemplate", "leaderTemplate"), "Entry"),
    (("spec", "leaderWorkerTemplate", "workerTemplate"), "Follower"),
)
_FIELD_BY_KIND = {"HTTPRoute": "spec.route", "InferencePool": "spec.engine"}
_LATE = "it was not asked in time"


@dataclass(frozen=True)
class DryRun:
    """One object as server-side apply would write it: its path, and who writes it. With `force` it takes
    over fields that somebody else has set.
    """

    path: str
    manifest: dict[str, Any]
    manager: str
    force: bool


@dataclass(frozen=True)
class Write:
    """One object that an update would write, and how it is shown to the API server. It is shown in another
    namespace where its own one does not exist (`elsewhere`).
    """

    object: KubeObject
    resource: ApiResource
    dry_run: DryRun
    is_new: bool
    elsewhere: bool

    @property
    def name(self) -> str:
        """Return kind, namespace and name."""
        obj = self.object
        return titled(obj.kind, obj.namespace, obj.kubernetes_name)


@dataclass(frozen=True)
class _Reply:
    """What a server says to one object: of which field, "" for the whole of it, and whether that is because
    its kind has no such field (`of_schema`).
    """

    write: Write
    field: str
    words: str
    next_step: str
    severity: Severity = "error"
    of_schema: bool = False


def refused_write_problems(
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
    writes_to_try = list(writes(cluster, stack, existing, resources))
    replies: list[_Reply] = []
    forbidden: list[Write] = []
    silent: list[Write] = []
    by_webhook: dict[str, list[Write]] = {}
    may = _asked_once(api)
    for write, answer in zip(
        writes_to_try, dry_runs(api, [each.dry_run for each in writes_to_try]), strict=True
    ):
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
                replies += _replies(write, answer.status, status, words)
    if cluster.connection.cloud:
        # Google brings newer CRDs with the versions of its clusters, maybe in this very update.
        replies = [replace(reply, severity="warning") if reply.of_schema else reply for reply in replies]
    yield from _problems(cluster.connection.cluster, replies, deployments)
    yield from _unasked_problems(cluster, forbidden, silent, by_webhook)


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


def _replies(write: Write, code: int, status: Mapping[str, Any], words: str) -> Iterator[_Reply]:
    """Yield what a status of an API server says of an object: of each field that it names, or as a whole.
    In another namespace than its own only what is said of its form counts.
    """
    causes = (status.get("details") or {}).get("causes") or ()
    by_field = [
        (str(cause["field"]), _shown(str(cause["message"]), write)) for cause in causes if _has_field(cause)
    ]
    if by_field and len(by_field) == len(causes) and code != 409:
        for field, message in by_field:
            if not message.endswith(_IMMUTABLE):
                yield _Reply(write, field, message, "Correct it")
            elif not write.elsewhere:
                yield _Reply(
                    write,
                    field,
                    message,
                    "Where the preview says `replace`, it is deleted and made anew; where it does not, the "
                    "update fails, and the field must stay",
                    "warning",
                )
    elif _SCHEMA in words:
        step = "Correct it"
        if "." in write.object.api_version.partition("/")[0]:
            step = f"{install(write.object.api_version)}, if its CRDs are too old, or correct it"
        for path, message in tuple(_schema_messages(words)) or (("", words),):
            yield _Reply(write, path, message, step, of_schema=True)
    elif not write.elsewhere:
        step = "Change what it names, or have whoever keeps this rule on the cluster change it"
        if code == 409:
            step = (
                "Let whoever has set it give it up (`kubectl get --show-managed-fields -o yaml` shows who), "
                "or leave it out here"
            )
        yield _Reply(write, "", words, step)


def _has_field(cause: Mapping[str, Any]) -> bool:
    return bool(cause.get("field") and cause.get("message"))


def _schema_messages(words: str) -> Iterator[tuple[str, str]]:
    """Yield fields and what is said of them: `failed to create typed patch object (ml/web; apps/v1,
    Kind=Deployment): .spec.x: field not declared in schema`, of several each on a line after `errors:`.
    """
    _, _, messages = words.partition("): ")
    for line in messages.removeprefix("errors:").splitlines():
        path, _, message = line.strip().partition(": ")
        if message:
            yield path.removeprefix("."), message


def _problems(
    cluster: str, replies: Iterable[_Reply], deployments: Mapping[str, ModelDeployment]
) -> Iterator[Problem]:
    """Yield one problem for all objects of a kind to which the same is said, at the line of the first."""
    equal_replies: dict[tuple[str, ...], list[_Reply]] = {}
    for reply in replies:
        obj = reply.write.object
        words = reply.words.replace(f'"{obj.kubernetes_name}"', "")
        equal_replies.setdefault((obj.kind, reply.field, words, reply.next_step), []).append(reply)
    for first, *others in equal_replies.values():
        kind, key, path = document_field(first.write.object, cluster, first.field, deployments)
        of_field = f"{first.field} of " if first.field else ""
        and_others = f" (and {listing((reply.write.name for reply in others), _NAMED)})" if others else ""
        yield Problem(
            f"the API server of cluster {cluster!r} refuses {of_field}{first.write.name}{and_others}: "
            f"{_in_short(first.words)}",
            first.next_step,
            path,
            kind=kind,
            key=key,
            severity=first.severity,
        )


def _unasked_problems(
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
    for words, unasked in by_webhook.items():
        yield cluster_problem(
            name,
            f"cluster {name!r} was not asked about {_objects(unasked)}: {words}",
            "Updates go through it as always; a webhook that declares sideEffects: None is asked before",
            path,
            severity="notice",
        )


def _objects(unasked: list[Write]) -> str:
    number = f"{len(unasked)} object{'' if len(unasked) == 1 else 's'} that an update writes"
    return f"{number} ({listing((write.name for write in unasked), _NAMED)})"


def _in_short(words: str) -> str:
    """Return the words of somebody else as part of a sentence."""
    line = " ".join(words.split()).removesuffix(".")
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def _shown(words: str, write: Write) -> str:
    """Return words without secrets that an object has in plain text: servers quote values."""
    for secret in sorted(_secrets(write.object.manifest), key=len, reverse=True):
        words = words.replace(secret, _HIDDEN)
    return words


def _secrets(manifest: Mapping[str, Any]) -> Iterator[str]:
    spec = manifest.get("spec") or {}
    if not isinstance(spec, Mapping) or not {"template", "leaderWorkerTemplate"} & spec.keys():
        return
    for template in templates_of(manifest):
        for _, container in containers_of(template.get("spec") or {}):
            yield from (text for _, _, text, _ in in_container(container))


def writes(
    cluster: DesiredCluster,
    stack: str,
    existing: Iterable[ExistingObject],
    resources: Mapping[ApiKind, ApiResource],
) -> Iterator[Write]:
    """Yield what an update writes on a cluster that has the `existing` objects. What somebody else owns is
    none of it, and objects of kinds that the cluster does not know are not either.
    """
    live = {
        (existing_object.kind, existing_object.namespace, existing_object.name): existing_object
        for existing_object in existing
    }
    namespaces = {obj.kubernetes_name for obj in cluster.objects if obj.kind == "Namespace"}
    absent_namespaces = {name for name in namespaces if ("Namespace", "", name) not in live}
    unserved_keys = unserved(cluster, live.values())
    for obj in cluster.objects:
        resource = resources.get((obj.api_version, obj.kind))
        if resource is None or obj.kind in ("Secret", "CustomResourceDefinition") or obj.key in unserved_keys:
            continue
        before = live.get((obj.kind, obj.namespace or "", obj.kubernetes_name))
        if before is None or (is_ours(before, stack) and _changes(obj, before.item)):
            yield _write(obj, before, resource, elsewhere=obj.namespace in absent_namespaces)


def _changes(obj: KubeObject, live: Mapping[str, Any]) -> bool:
    # Items of a list may have no kind of their own.
    manifest = {key: value for key, value in _kept(obj, live).items() if key not in ("apiVersion", "kind")}
    ours = [entry.get("fieldsV1") or {} for entry in _managed(live, _PULUMI)]
    fields_of_others = [entry.get("fieldsV1") or {} for entry in _managed(live, "", subresources=True)]
    fields_of_others = [fields for fields in fields_of_others if fields not in ours]
    return any(_lacks(manifest, fields) for fields in ours) or any(
        any(_has(fields, path) for fields in ours)
        or not any(_has(fields, path) for fields in fields_of_others)
        for path, _, _ in differences(manifest, live)
    )


def _write(
    obj: KubeObject, before: ExistingObject | None, resource: ApiResource, *, elsewhere: bool
) -> Write:
    live = before.item if before else {}
    manifest = _kept(obj, live)
    if elsewhere:
        manifest = {**manifest, "metadata": {**manifest["metadata"], "namespace": STAND_IN}}
    ours = next(_managed(live, _PULUMI), None)
    annotations = (live.get("metadata") or {}).get("annotations") or {}
    # As the engine decides it, and `desired.transition` for workloads whose replicas were somebody else's.
    force = elsewhere or (
        ours is not None
        and (bool({REPLICAS, PATCH_FORCE} & annotations.keys()) or any(_managed(live, *_TAKEN_OVER)))
    )
    path = resource.path(STAND_IN if elsewhere else obj.namespace, obj.kubernetes_name)
    manager = str(ours["manager"]) if ours else _PULUMI
    return Write(obj, resource, DryRun(path, manifest, manager, force), before is None, elsewhere)


def _kept(obj: KubeObject, live: Mapping[str, Any]) -> dict[str, Any]:
    """Return the manifest with fields as they are on the cluster where they are somebody else's."""
    manifest = obj.manifest
    for path in obj.ignore:
        manifest = _with(manifest, path.split("."), live)
    return manifest


def _with(manifest: Mapping[str, Any], path: list[str], live: Mapping[str, Any]) -> dict[str, Any]:
    step, *rest = path
    if step not in live:
        return dict(manifest)
    value = _with(manifest.get(step) or {}, rest, live[step]) if rest else live[step]
    return {**manifest, step: value}


def _managed(
    live: Mapping[str, Any], *managers: str, subresources: bool = False
) -> Iterator[Mapping[str, Any]]:
    """Yield what managers whose names begin so have set, in `subresources` only where it is said."""
    for entry in (live.get("metadata") or {}).get("managedFields") or ():
        is_theirs = str(entry.get("manager", "")).startswith(managers)
        if is_theirs and (subresources or not entry.get("subresource")):
            yield entry


def _has(fields: Mapping[str, Any], path: str) -> bool:
    """Return whether these fields, in the form FieldsV1, have the one at a path of `differing`."""
    if not path or not fields.keys() - {"."}:
        return True  # what is below is set as a whole
    for step, inner in fields.items():
        form, _, name = step.partition(":")
        start = f"[{json.loads(name).get('name')}]" if form == "k" else f".{name}"
        rest = path.removeprefix(start)
        if form in ("f", "k") and rest != path and rest[:1] in ("", ".", "[") and _has(inner, rest):
            return True
    return False


def _lacks(value: Any, fields: Mapping[str, Any]) -> bool:
    """Return whether a value lacks one of these fields, which are in the form FieldsV1
    (https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management).
    """
    for step, inner in fields.items():
        form, _, name = step.partition(":")
        if form == "f" and not name.startswith(_OF_ENGINE):
            if isinstance(value, Mapping) and name in value:
                if _lacks(value[name], inner):
                    return True
            elif not inner or "." in inner or _lacks({}, inner):
                return True
        elif form == "k":
            keys = json.loads(name)
            # Keys that a manifest leaves out have their default, such as the protocol of a port.
            entries = (entry for entry in value or () if all(entry.get(k, v) == v for k, v in keys.items()))
            entry = next(entries, None)
            if entry is None or _lacks(entry, inner):
                return True
        elif form == "v" and json.loads(name) not in (value or ()):
            return True
    return False


Answer = RefusedError | NoAnswerError | None


def dry_runs(api: Api, objects: Sequence[DryRun]) -> list[Answer]:
    """Return why each object would not be written, None where it would."""
    late: Answer = NoAnswerError(_LATE)
    # One second more than the requests have.
    return in_parallel(partial(_dry_run, api), objects, late=late, until=api.deadline + 1)


def _dry_run(api: Api, object_to_try: DryRun) -> Answer:
    try:
        api.dry_run(
            object_to_try.path,
            object_to_try.manifest,
            manager=object_to_try.manager,
            force=object_to_try.force,
        )
    except (RefusedError, NoAnswerError) as error:
        return error
    return None


def document_field(
    obj: KubeObject, cluster: str, field: str, deployments: Mapping[str, ModelDeployment]
) -> tuple[str, str, str]:
    """Return kind and key of the document that an object comes from, and the path in it for a field of the
    object. `deployments` are those that were read, by `namespace/name`.
    """
    labels = obj.manifest["metadata"].get("labels") or {}
    if DEPLOYMENT in labels:
        key = f"{obj.namespace}/{labels[DEPLOYMENT]}"
        deployment = deployments.get(key)
        if ROLE in labels and deployment:
            return "ModelDeployment", key, _field_of_pods(obj.manifest, field, labels[ROLE], deployment)
        is_picker = obj.kind == "Deployment" and deployment_of(obj.manifest)
        return (
            "ModelDeployment",
            key,
            "spec.endpointPicker" if is_picker else _FIELD_BY_KIND.get(obj.kind, ""),
        )
    if SERVICE in labels:
        return "ModelService", f"{obj.namespace}/{labels[SERVICE]}", ""
    if FRONT_DOOR in labels:
        return "InferenceGateway", labels[FRONT_DOOR], ""
    return "InferenceCluster", cluster, "spec.serving"


def _field_of_pods(manifest: Mapping[str, Any], field: str, role: str, deployment: ModelDeployment) -> str:
    steps = steps_of(field, manifest)
    for path, position in _TEMPLATES:
        if steps[: len(path)] == path:
            template = workers_of(deployment, role).of(position)
            if template is None:
                break
            written = {"spec": template.spec}
            generated = part_of(manifest, path)
            rest = _same_place(steps[len(path) :], generated, written)
            return path_in_document((*template_path(deployment, role, position).split("."), *rest))
    return f"{path_of_role(role)}.workers"


def _same_place(steps: FieldPath, generated: Any, written: Any) -> FieldPath:
    """Return the steps by which a written template has what a generated one has: entries of lists are those
    of one name, or equal ones. They end where nothing is written.
    """
    written_path: list[str | int] = []
    for step in steps:
        generated = part_of(generated, (step,))
        if isinstance(step, int):
            entries = written if isinstance(written, list) else []
            places = [index for index, entry in enumerate(entries) if _is_same(entry, generated)]
            if not places:
                break
            step = places[0]
        elif not isinstance(written, Mapping) or step not in written:
            break
        written = written[step]
        written_path.append(step)
    return tuple(written_path)


def _is_same(written: Any, generated: Any) -> bool:
    name = part_of(generated, ("name",))
    return bool(written == generated or (name is not None and part_of(written, ("name",)) == name))


def steps_of(field: str, manifest: Mapping[str, Any]) -> FieldPath:
    """Return the steps to a field: `spec.ports[0].name`, or `.spec.ports[name="http"].name`."""
    steps: list[str | int] = []
    for key, number, name, quoted in _STEP.findall(field):
        entries = part_of(manifest, steps)
        if number:
            steps.append(int(number))
        elif name:
            places = [index for index, entry in enumerate(entries or ()) if entry.get("name") == name]
            steps += places[:1]
        else:
            steps.append(key or quoted)
    return tuple(steps)
