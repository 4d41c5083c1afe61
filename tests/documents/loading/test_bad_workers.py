"""Every mistake in workers of several pods and in roles, with its line and message."""

from collections.abc import Callable

import pytest

from inferfleet.documents import Problem, Where

HEAD = """\
apiVersion: inferfleet.dev/v1alpha1
kind: ModelDeployment
metadata: {name: kimi, namespace: ml}
spec:
  replicas: 1
"""
POD = "{spec: {containers: [{name: engine, image: x}]}}"
TWO = "topology: {tensor: 8, pipeline: 2}"
WORKERS = f"  workers: {{{TWO}, template: {POD}}}\n"
# The lines behind HEAD, which has five; then line, path, what, next step of the one problem.
CASES = {
    "a template of all pods and one of followers": (
        f"  workers:\n    {TWO}\n    template: {POD}\n    follower: {{template: {POD}}}\n",
        9,
        "spec.workers.follower",
        "template is for all pods of a worker, and follower beside it says another",
        "Keep template alone, or write entry.template and follower.template",
    ),
    "three templates": (
        f"  workers:\n    {TWO}\n    template: {POD}\n    entry: {{template: {POD}}}\n"
        f"    follower: {{template: {POD}}}\n",
        9,
        "spec.workers.entry",
        "template is for all pods of a worker, and entry and follower beside it says another",
        "Keep template alone, or write entry.template and follower.template",
    ),
    "an empty block of prefill": (
        f"{WORKERS}  prefill:\n",
        7,
        "spec.prefill",
        "prefill is there and says nothing",
        "Fill it in, or remove the line",
    ),
    "followers alone": (
        f"  workers:\n    {TWO}\n    follower: {{template: {POD}}}\n",
        8,
        "spec.workers.follower",
        "follower has a template, and the pods that serve have none",
        "Write entry.template too, or template for all pods",
    ),
    "an entry without followers": (
        f"  workers:\n    {TWO}\n    entry: {{template: {POD}}}\n",
        6,
        "spec.workers",
        "workers have 2 pods, and only the entry has a template",
        "Write follower.template, or template for all pods",
    ),
    "an entry without an engine": (
        f"  workers:\n    {TWO}\n    entry:\n      template: {POD.replace('engine', 'vllm')}\n"
        f"    follower: {{template: {POD}}}\n",
        9,
        "spec.workers.entry.template.spec.containers",
        "a template has exactly one container named engine, but this one has none",
        "Name the container that serves the model engine",
    ),
    "followers without an engine": (
        f"  workers:\n    {TWO}\n    entry: {{template: {POD}}}\n    follower:\n"
        f"      template: {POD.replace('engine', 'vllm')}\n",
        10,
        "spec.workers.follower.template.spec.containers",
        "a template has exactly one container named engine, but this one has none",
        "Name the container that serves the model engine",
    ),
    "a template that is no map": (
        f"  workers:\n    {TWO}\n    entry: {{template: {POD}}}\n    follower: {{template: engine}}\n",
        9,
        "spec.workers.follower.template",
        "template must be a map, not 'engine'",
        "Write a map with fields such as metadata, spec",
    ),
    "copies that are not whole in a pod": (
        f"  workers: {{topology: {{tensor: 1, data: 6, dataLocal: 4}}, template: {POD}}}\n",
        6,
        "spec.workers.topology",
        "data 6 must be a multiple of dataLocal 4",
        "Change one of the two",
    ),
    "a role that is taken": (
        f"{WORKERS}  roles:\n    decode: {{workers: {{{TWO}, template: {POD}}}}}\n",
        8,
        "spec.roles.decode",
        "the name decode of a role is taken: it is that of spec.workers",
        "Choose another name",
    ),
    "a role that is called like endpoint pickers": (
        f"{WORKERS}  roles:\n    epp: {{workers: {{{TWO}, template: {POD}}}}}\n",
        8,
        "spec.roles.epp",
        "the name epp of a role is taken: it is that of endpoint pickers, whose Service is called "
        "<deployment>-epp",
        "Choose another name",
    ),
    "a role of a name that no label takes": (
        f"{WORKERS}  roles:\n    Encode_1: {{workers: {{{TWO}, template: {POD}}}}}\n",
        8,
        "spec.roles.Encode_1",
        "the role 'Encode_1' must be lowercase letters, digits and '-', start with a letter, not end with "
        "'-', at most 12 characters",
        "Change it",
    ),
    "a role without workers": (
        f"{WORKERS}  roles:\n    encode: {{}}\n",
        8,
        "spec.roles.encode.workers",
        "field workers is missing",
        "Add workers",
    ),
    "a role with an entry alone": (
        f"{WORKERS}  roles:\n    encode:\n      workers: {{{TWO}, entry: {{template: {POD}}}}}\n",
        9,
        "spec.roles.encode.workers",
        "workers have 2 pods, and only the entry has a template",
        "Write follower.template, or template for all pods",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_mistake_is_told_with_place_value_rule_and_next_step(
    problems_in: Callable[..., list[Problem]], case: str
) -> None:
    lines, line, path, what, next_step = CASES[case]
    (problem,) = problems_in(HEAD + lines)
    assert (problem.path, problem.what, problem.next_step) == (path, what, next_step)
    assert problem.where == Where("a.yaml", line)


def test_mistakes_of_all_templates_are_told_at_once(problems_in: Callable[..., list[Problem]]) -> None:
    wrong = POD.replace("image: x", "imagee: x")
    lines = (
        f"  workers:\n    {TWO}\n    entry: {{template: {wrong}}}\n    follower: {{template: {wrong}}}\n"
        f"  roles:\n    encode: {{workers: {{topology: {{tensor: 1}}, template: {wrong}}}}}\n"
    )
    assert {problem.path for problem in problems_in(HEAD + lines)} == {
        f"spec.{at}.spec.containers[0].imagee"
        for at in ("workers.entry.template", "workers.follower.template", "roles.encode.workers.template")
    }
