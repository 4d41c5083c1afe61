"""What is written otherwise and is in no object: a digest tells it, and never a value that may be secret."""

from dataclasses import replace
from typing import Any

import pytest
from digested import loaded
from documents import API, Document
from small_sides import STACK, head, l4, model, place, standing

from inferfleet.cli.verbs.digest_markdown import sections
from inferfleet.review.digest.comparison import stack_digest
from inferfleet.review.digest.fields import setting_fields
from inferfleet.review.digest.texts import field_change, field_changes
from inferfleet.review.digest.update import Side
from inferfleet.review.digest.values import DocumentChange, FieldChange, StackDigest, WaiverChange

NEXT = "docker.io/vllm/vllm-openai:v0.31.0"
FLEET = (l4(), place("east"), model())


def policy(**spec: Any) -> Document:
    rule = {"each": "model", "cel": "model.gpus <= 64", "message": "models are small", **spec}
    return {"apiVersion": API, "kind": "Policy", "metadata": {"name": "small"}, "spec": rule}


def waiver(**spec: Any) -> Document:
    exception = {"policy": "small", "until": "2026-12-31", "reason": "a launch", **spec}
    return {"apiVersion": API, "kind": "Waiver", "metadata": {"name": "w"}, "spec": exception}


def changed(path: str, before: str, after: str) -> FieldChange:
    return FieldChange(path, "changed", before, after, shown=True)


def digested(before: tuple[Document, ...], after: tuple[Document, ...]) -> StackDigest:
    base = standing(*before)
    return stack_digest(STACK, base, head(base, *after))


def connected(**existing: Any) -> Document:
    made = place("east")
    made["spec"]["cluster"]["existing"] |= existing
    return made


@pytest.mark.parametrize(
    ("before", "after", "kind", "name", "field"),
    [
        (
            connected(kubeconfig={"path": "a.yaml"}),
            connected(kubeconfig={"path": "b.yaml"}),
            "InferenceCluster",
            "east",
            changed("spec.cluster.existing.kubeconfig.path", '"a.yaml"', '"b.yaml"'),
        ),
        (
            connected(context="a"),
            connected(context="b"),
            "InferenceCluster",
            "east",
            changed("spec.cluster.existing.context", '"a"', '"b"'),
        ),
        (model(), model(priority=7), "ModelDeployment", "ml/qwen", changed("spec.priority", "0", "7")),
        (
            model(unplaced="Refuse"),
            model(unplaced="Warn"),
            "ModelDeployment",
            "ml/qwen",
            changed("spec.unplaced", '"Refuse"', '"Warn"'),
        ),
        (
            policy(),
            policy(cel="model.gpus <= 640"),
            "Policy",
            "small",
            changed("spec.cel", '"model.gpus <= 64"', '"model.gpus <= 640"'),
        ),
        (policy(), policy(enforce="Warn"), "Policy", "small", changed("spec.enforce", '"Refuse"', '"Warn"')),
    ],
)
def test_what_no_object_has_is_told(
    before: Document, after: Document, kind: str, name: str, field: FieldChange
) -> None:
    others = [document for document in FLEET if document["kind"] != before["kind"]]
    made = digested((*others, before), (*others, after))
    (entry,) = made.written
    assert (made.state, made.resources) == ("changed", ())
    assert entry == DocumentChange(kind, name, "changed", (field,))  # type: ignore[arg-type]


def test_a_policy_that_goes_is_told_with_what_it_asked_for() -> None:
    (entry,) = digested((*FLEET, policy()), FLEET).written
    assert (entry.kind, entry.name, entry.change) == ("Policy", "small", "removed")
    assert [(field.path, field.before) for field in entry.fields] == [
        ("spec.cel", '"model.gpus <= 64"'),
        ("spec.each", '"model"'),
        ("spec.enforce", '"Refuse"'),
        ("spec.message", '"models are small"'),
    ]


def test_a_policy_that_leaves_the_folder_of_all_stacks_is_told() -> None:
    """Whoever edits the stack could waive it from then on."""
    base = standing(*FLEET, policy())
    of_all = replace(base.documents, of_all_stacks=frozenset({("Policy", "small")}))
    made = stack_digest(STACK, replace(base, documents=of_all), base)
    assert made.written == (
        DocumentChange(
            "Policy", "small", "changed", (changed("folder", '"policies"', '"that of the stack"'),)
        ),
    )


def test_what_shapes_pods_is_told_by_what_becomes_of_them_and_a_priority_beside_it_still() -> None:
    made = digested(FLEET, (l4(), place("east"), model(image=NEXT, priority=7)))
    assert [restart.fields for restart in made.models[0].restarts] == [("spec.containers[engine].image",)]
    assert made.written == (
        DocumentChange("ModelDeployment", "ml/qwen", "changed", (changed("spec.priority", "0", "7"),)),
    )


def test_of_pods_that_do_not_run_the_field_is_told_without_its_value() -> None:
    (entry,) = digested(
        (l4(), place("east"), model(replicas=0, env="one")),
        (l4(), place("east"), model(replicas=0, env="canary-Zx81")),
    ).written
    (field,) = entry.fields
    path = "spec.workers.template.spec.containers[engine].env[KEY].value"
    assert field == FieldChange(path, "changed", "", "", shown=False)


def test_a_waiver_has_a_section_of_its_own_that_is_open() -> None:
    made = digested((*FLEET, policy()), (*FLEET, policy(), waiver(of="ml/qwen")))
    line = loaded([*FLEET, policy(), waiver(of="ml/qwen")], STACK).where("Waiver", "w")
    assert line
    assert (made.state, made.written) == ("changed", ())
    assert made.waivers == (
        WaiverChange("w", "added", "small", "ml/qwen", "2026-12-31", "a launch", line.file, line.line),
    )
    section = next(section for section in sections(made) if section.title == "Waivers of policies")
    assert (section.opened, section.entries) == (
        True,
        (f"- `{line}` `w` is added: it lets off `ml/qwen` of policy `small` until 2026-12-31: a launch",),
    )


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        (waiver(of="ml/qwen"), waiver(), "changed"),
        (waiver(until="2026-12-01"), waiver(), "changed"),
        (waiver(), None, "removed"),
    ],
)
def test_a_waiver_that_says_something_else_or_goes_is_told(
    before: Document, after: Document | None, change: str
) -> None:
    others = (*FLEET, policy())
    made = digested((*others, before), (*others, *([after] if after else [])))
    assert [(each.waiver, each.change) for each in made.waivers] == [("w", change)]


def test_a_waiver_as_it_was_is_not_told() -> None:
    assert digested((*FLEET, policy(), waiver()), (policy(), *FLEET, waiver())).waivers == ()


def test_long_values_are_shortened_around_their_difference() -> None:
    rest = "true && " * 100
    before, after = ((*FLEET, policy(cel=f"{rest}{last}")) for last in ("true", "1 < 2"))
    (entry,) = digested(before, after).written
    shown = ("true && " * 8)[4:]
    assert entry.fields == (changed("spec.cel", f'…{shown}true"', f'…{shown}1 < 2"'),)


SETTINGS = {
    "inferfleet:locked": ("false", "true"),
    "inferfleet:trustRepositoryKubeconfigs": (None, True),
    "pulumi:disable-default-providers": (["kubernetes", "gcp"], None),
    "gcp:project": ("acme-dev", "acme-prod"),
    "kubernetes:enableServerSideApply": (None, "false"),
}


def test_settings_of_all_programs_are_told() -> None:
    old, new = (
        {"config": {key: values[side] for key, values in SETTINGS.items() if values[side] is not None}}
        for side in (0, 1)
    )
    assert setting_fields(old, {**new, "environment": ["acme/prod"]}) == (
        FieldChange("environment", "added", "", '["acme/prod"]', shown=True),
        changed("gcp:project", '"acme-dev"', '"acme-prod"'),
        changed("inferfleet:locked", '"false"', '"true"'),
        FieldChange("inferfleet:trustRepositoryKubeconfigs", "added", "", "true", shown=True),
        FieldChange("kubernetes:enableServerSideApply", "added", "", '"false"', shown=True),
        FieldChange("pulumi:disable-default-providers", "removed", '["kubernetes", "gcp"]', "", shown=True),
    )


SECRETS: list[tuple[dict[str, Any], str]] = [
    ({"config": {"aws:secretKey": "canary"}}, "aws:secretKey"),
    ({"config": {"aws:secretKey": {"secure": "canary"}}}, "aws:secretKey"),
    ({"config": {"gcp:project": {"secure": "canary"}}}, "gcp:project"),
    ({"config": {"inferfleet:eastKubeconfig": "canary"}}, "inferfleet:eastKubeconfig"),
    ({"config": {"inferfleet:secrets": {"ml/hf": "canary"}}}, 'inferfleet:secrets["ml/hf"]'),
    ({"config": {"inferfleet:secrets": {"ml/hf": {"token": "canary"}}}}, 'inferfleet:secrets["ml/hf"]'),
    ({"environment": {"values": {"password": "canary"}}}, "environment"),
    ({"encryptionsalt": "canary"}, "encryptionsalt"),
    (
        {"config": {"inferfleet:plugins": [{"name": "mine", "config": {"token": "canary"}}]}},
        "inferfleet:plugins[mine]",
    ),
]


@pytest.mark.parametrize(("written", "path"), SECRETS)
def test_no_value_is_shown_that_may_be_secret(written: dict[str, Any], path: str) -> None:
    (field,) = setting_fields({}, written)
    assert (field.path, "canary" in repr(field)) == (path, False)
    (gone,) = setting_fields(written, {})
    assert (gone.path, gone.change, "canary" in repr(gone)) == (path, "removed", False)


def test_another_secret_is_told_as_another_value() -> None:
    old, new = (
        {"config": {"inferfleet:secrets": {"ml/hf": {"token": value}}}}
        for value in ("canary-1", {"secure": "canary-2"})
    )
    path = 'inferfleet:secrets["ml/hf"].token'
    assert setting_fields(old, new) == (FieldChange(path, "changed", "", "", shown=False),)


def test_a_key_without_a_namespace_is_the_setting_that_pulumi_takes_it_for() -> None:
    old, new = {"config": {"locked": True}}, {"config": {"inferfleet:locked": True}}
    assert setting_fields(old, new) == ()


def test_settings_of_a_side_come_first() -> None:
    base = standing(*FLEET)
    other: Side = replace(head(base, *FLEET, policy()), config={"config": {"gcp:project": "acme"}})
    made = stack_digest(STACK, base, other)
    assert [(entry.kind, entry.change) for entry in made.written] == [
        ("Settings", "changed"),
        ("Policy", "added"),
    ]
    (section,) = [section for section in sections(made) if section.title.startswith("Settings")]
    assert section.entries[0] == f'- Settings **`{STACK}`** is changed\n  - `gcp:project` is new: "acme"'


def test_user_and_password_of_a_url_are_never_shown() -> None:
    before, after = "http://traces:one@otel:4317", "http://traces:two@other:4317"
    assert field_change("spec.serving.tracing.endpoint", before, after) == FieldChange(
        "spec.serving.tracing.endpoint",
        "changed",
        '"http://(not shown)@otel:4317"',
        '"http://(not shown)@other:4317"',
        shown=True,
    )
    assert not field_change("spec.serving.tracing.endpoint", before, "http://traces:two@otel:4317").shown


def test_a_secret_among_args_of_an_engine_is_never_shown() -> None:
    def args(*words: str) -> dict[str, Any]:
        return {"engine": {"args": list(words)}}

    old, new = "0123456789abcdef", "fedcba9876543210"
    path = "spec.engine.args[--api-key]"
    for before, after in (
        ((f"--api-key={old}",), (f"--api-key={new}",)),
        (("--api-key", old), ("--api-key", new)),
    ):
        assert field_changes(args(*before), args(*after), below="spec") == (
            FieldChange(path, "changed", "", "", shown=False),
        )
    assert field_changes({}, args("--seed=1", "--api-key", new), below="spec") == (
        FieldChange(
            "spec.engine", "added", "", '{"args": ["--seed=1", "--api-key", "(not shown)"]}', shown=True
        ),
    )
