"""Plain data to a model, or every problem in it, in the words of the document."""

import json
import re
from collections.abc import Iterable
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from inferfleet.documents.kinds.base import RefusedField, StrictModel
from inferfleet.documents.problems import Mistaken, Problem
from inferfleet.documents.wording import listing, named, nearest, one_of, path_of, shown


def fields_at(model: type[BaseModel], steps: Iterable[str | int]) -> tuple[str, ...]:
    """Return the names of all fields of a model at `steps`; () where any key is allowed."""
    inner = _model_at(model, steps)
    return fields_of(inner) if inner else ()


def _model_at(model: type[BaseModel], steps: Iterable[str | int]) -> type[BaseModel] | None:
    at: Any = model
    for step in steps:
        at = _inside(at, step)
    return at if _is_model(at) else None


def fields_of(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the names of all fields of a model, as they are written in documents."""
    return tuple(field.alias or name for name, field in model.model_fields.items())


def _inside(annotation: Any, step: str | int) -> Any:
    if _is_model(annotation):
        for name, field in annotation.model_fields.items():
            if step == (field.alias or name):
                return _bare(field.annotation)
        return None
    arguments = get_args(annotation)
    if get_origin(annotation) is dict and isinstance(step, str):
        return _bare(arguments[1])
    if get_origin(annotation) is tuple and isinstance(step, int):
        return _bare(arguments[0])
    return None


def _bare(annotation: Any) -> Any:
    """Return the type without metadata and without `| None`."""
    if get_origin(annotation) is Annotated:
        return _bare(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        members = [_bare(member) for member in get_args(annotation) if member is not type(None)]
        models = [member for member in members if _is_model(member)]
        # A number or a model: only the model has fields.
        chosen = models if len(models) == 1 else members
        return chosen[0] if len(chosen) == 1 else annotation
    return annotation


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


M = TypeVar("M", bound=BaseModel)
Step = str | int
# More help nobody, and cost: each mistyped field is compared with all known ones.
MOST_PROBLEMS = 1_000

_SHAPES = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "dict_type": "a map",
    "model_type": "a map",
    "tuple_type": "a list",
    "list_type": "a list",
}
_BOUNDS = {
    "greater_than_equal": ("at least", "ge"),
    "greater_than": ("more than", "gt"),
    "less_than_equal": ("at most", "le"),
    "less_than": ("less than", "lt"),
}


def validated(model: type[M], data: Any, *, ignore: Iterable[str] = ()) -> tuple[M | None, list[Problem]]:
    """Return the model, or None and its problems, which have paths and no lines.

    Problems at or below the paths in `ignore` are left out: they are reported already. Values are checked
    strictly: "8" is not a number and 1 is not a boolean. `data` must be serializable as JSON.
    """
    try:
        # Through JSON, because only there lists are taken for tuples while all else is strict.
        return model.model_validate_json(json.dumps(data), strict=True, by_alias=True, by_name=False), []
    except ValidationError as error:
        problems = _problems(model, data, error.errors(include_url=False))
        reported = tuple(ignore)
        return None, [
            problem for problem in problems if not any(_within(problem.path, path) for path in reported)
        ]


def validated_but_for_links(
    model: type[M], data: Any, *, chain: tuple[str, ...], ignore: Iterable[str] = ()
) -> tuple[M | None, list[Problem], dict[str, tuple[Problem, ...]]]:
    """Return a model and its problems as `validated` does, but those of single plugin links apart, by path.

    `chain` leads to the links in the data. Where nothing else is wrong, the model has a link in place of each
    broken one that is there for its place alone. So the problems of all links of a chain can be told at once:
    most of them are known only to the plugins.
    """
    document, problems = validated(model, data, ignore=ignore)
    links: dict[int, list[Problem]] = {}
    for problem in problems:
        if index := re.match(re.escape(path_of(chain)) + r"\[(\d+)\]", problem.path):
            links.setdefault(int(index[1]), []).append(problem)
    if not links or len(problems) > sum(map(len, links.values())):
        return document, problems, {}
    document, problems = validated(model, _replaced(data, chain, links), ignore=ignore)
    return document, problems, {path_of((*chain, index)): tuple(links[index]) for index in links}


def _replaced(data: Any, chain: tuple[str, ...], indexes: Iterable[int]) -> Any:
    """The data with a link that can be read at these places of the chain."""
    if not chain:
        return [{"name": "broken"} if index in indexes else link for index, link in enumerate(data)]
    return {**data, chain[0]: _replaced(data[chain[0]], chain[1:], indexes)}


def _within(path: str, outer: str) -> bool:
    return not outer or path == outer or path.startswith((f"{outer}.", f"{outer}["))


def _problems(model: type[BaseModel], data: Any, errors: list[ErrorDetails]) -> list[Problem]:
    """Return one problem per place and rule; the errors of the members of a union become one problem."""
    problems: list[Problem] = []
    shapes: dict[tuple[Step, ...], list[str]] = {}
    with_shapes = {_steps(data, error) for error in errors[:MOST_PROBLEMS] if error["type"] in _SHAPES}
    mistyped = _mistyped(model, data, errors[:MOST_PROBLEMS])
    for number, error in enumerate(errors):
        if len(problems) + len(shapes) >= MOST_PROBLEMS:
            what = f"this document has some {len(errors) - number:,} more problems"
            problems.append(Problem(what, "Fix those above first"))
            break
        steps = _steps(data, error)
        if error["type"] in _SHAPES:
            shapes.setdefault(steps, []).append(_SHAPES[error["type"]])
            continue
        if error["type"] == "literal_error" and steps in with_shapes:
            shapes.setdefault(steps, []).extend(_choices(error))
            continue
        if error["type"] == "missing" and steps in mistyped:
            continue
        for at, what, next_step in _mistakes(model, steps, error):
            problems.append(Problem(what, next_step, path_of(at)))
    del problems[MOST_PROBLEMS + 1 :]
    for steps, allowed in shapes.items():
        value = _value_at(data, steps)
        rule = " or ".join(dict.fromkeys(allowed))
        what = f"{_leaf(steps)} must be {rule}, not {named(value)}"
        next_step = _fix(value, rule, fields_at(model, steps), required=_required(model, steps))
        choices = [words for words in allowed if words not in _SHAPES.values()]
        if isinstance(value, str) and nearest(value, choices):
            next_step = one_of(value, choices, "Choose one")
        if rule == "text" and _is_number(value) and (refused := _as_text(model, data, steps)):
            what, next_step = f"{what}, and as text too {refused[0]}", refused[1]
        problems.append(Problem(what, next_step, path_of(steps)))
    return problems


def _mistyped(model: type[BaseModel], data: Any, errors: list[ErrorDetails]) -> set[tuple[Step, ...]]:
    """Return where a field is missing in whose place another one stands, which says so itself."""
    missing = {_steps(data, error) for error in errors if error["type"] == "missing"}
    mistyped = set()
    for error in errors if missing else ():
        if error["type"] == "extra_forbidden":
            *parents, field = _steps(data, error)
            refused = _refused_field(model, parents, str(field))
            meant = refused.instead if refused else nearest(str(field), fields_at(model, parents))
            mistyped.add((*parents, meant))
    return missing & mistyped


def _refused_field(model: type[BaseModel], parents: Iterable[Step], field: str) -> RefusedField | None:
    """Return what the model at `parents` says of a field that it does not have."""
    inner = _model_at(model, parents)
    return inner.refused_fields.get(field) if inner and issubclass(inner, StrictModel) else None


def _known_fields(model: type[BaseModel], parents: tuple[Step, ...], field: str) -> str:
    """Return the next step for a field that the model at `parents` does not have.

    Where a model passes inputs of a cloud on, a name that is only like one of its fields may be one of those.
    """
    known, inner = fields_at(model, parents), _model_at(model, parents)
    steps = inner.passed_on if inner and issubclass(inner, StrictModel) else ()
    if not steps or nearest(field, known, cutoff=0.8):
        return one_of(field, known, "Known fields")
    passed = f"{shown(to_camel(field))}: ..."
    for step in reversed(steps):
        passed = f"{step}: {{{passed}}}"
    return f"Write {passed} if it is an input of Google's; fields here are: {listing(sorted(known))}"


def _choices(error: ErrorDetails) -> list[str]:
    """Return the values of which one is expected; no document has one with a comma or `or` in it."""
    return [part.strip("'") for part in error["ctx"]["expected"].replace(" or ", ", ").split(", ")]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _as_text(model: type[BaseModel], data: Any, steps: tuple[Step, ...]) -> tuple[str, str] | None:
    """Return what is wrong with a number once it is text, and the next step; None where nothing is."""
    try:
        model.model_validate_json(
            json.dumps(_with_text(data, steps)), strict=True, by_alias=True, by_name=False
        )
    except ValidationError as error:
        for text_error in error.errors(include_url=False):
            if _steps(data, text_error) == steps and text_error["type"] not in _SHAPES:
                return next(((what, step) for _, what, step in _mistakes(model, steps, text_error)), None)
    return None


def _with_text(data: Any, steps: tuple[Step, ...]) -> Any:
    """Return the data with the number at `steps` as text."""
    if not steps:
        return named(data)
    inside = _with_text(data[steps[0]], steps[1:])
    if isinstance(data, list):
        return [inside if index == steps[0] else entry for index, entry in enumerate(data)]
    return {**data, steps[0]: inside}


def _required(model: type[BaseModel], steps: tuple[Step, ...]) -> bool:
    """Return whether a document must have the field at `steps`."""
    inner = _model_at(model, steps[:-1])
    return inner is not None and any(
        field.is_required() and (field.alias or name) == steps[-1]
        for name, field in inner.model_fields.items()
    )


def _steps(data: Any, error: ErrorDetails) -> tuple[Step, ...]:
    """Return where an error is, as far as that exists in the data, so without the names of union members."""
    steps: list[Step] = []
    for step in error["loc"]:
        if (isinstance(data, dict) and step in data) or (isinstance(data, list) and isinstance(step, int)):
            data = _value_at(data, (step,))
            steps.append(step)
    return (*steps, error["loc"][-1]) if error["type"] == "missing" else tuple(steps)


def _value_at(data: Any, steps: tuple[Step, ...]) -> Any:
    for step in steps:
        data = data[step]
    return data


def _mistakes(
    model: type[BaseModel], steps: tuple[Step, ...], error: ErrorDetails
) -> list[tuple[tuple[Step, ...], str, str]]:
    """Return what an error that is not about the shape of a value says: where, what and the next step."""
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    leaf = "key" if _is_of_key(steps, error) else _leaf(steps)
    if kind == "too_short" and len(value) >= context["min_length"]:
        return []  # entries with errors of their own are not counted
    problem = context.get("error")
    if isinstance(problem, Mistaken):
        field_paths = [(*steps, *mistake.field_path) for mistake in problem.mistakes]
        return [
            (field_path, mistake.what.replace("{field}", _leaf(field_path)), mistake.next_step)
            for field_path, mistake in zip(field_paths, problem.mistakes, strict=True)
        ]
    if kind == "missing":
        what, next_step = f"field {leaf} is missing", f"Add {leaf}"
    elif kind == "extra_forbidden":
        what = f"unknown field {shown(leaf)!r}"
        next_step = _known_fields(model, steps[:-1], leaf)
        if refused := _refused_field(model, steps[:-1], leaf):
            written = "" if isinstance(value, dict | list) else f" {named(value)}"
            what = f"{leaf}{written} is not offered: {refused.why}" if refused.why else what
            next_step = refused.next_step
    elif kind == "literal_error":
        choices = _choices(error)
        rule = ", ".join(choices)
        wrong = f"{leaf} {named(value)} is not one of {rule}"
        what = wrong if isinstance(value, str) else f"{leaf} must be one of {rule}, not {named(value)}"
        next_step = one_of(value if isinstance(value, str) else "", choices, "Choose one")
    elif kind in _BOUNDS:
        words, key = _BOUNDS[kind]
        what, next_step = f"{leaf} must be {words} {context[key]}, not {named(value)}", "Change the number"
    elif kind in ("string_too_short", "too_short"):
        what, next_step = f"{leaf} must not be empty", "Give it a value, or remove the field"
    elif kind == "string_too_long":
        what, next_step = f"{leaf} has more than {context['max_length']} characters", "Shorten it"
    elif kind == "string_pattern_mismatch":
        what = f"{leaf} {named(value)} must match the pattern {context['pattern']}"
        next_step = "Change it"
    elif kind in ("value_error", "assertion_error"):
        what = f"{leaf}: {problem}" if str(problem) else f"{leaf} breaks a rule that has no text"
        next_step = "Change it to follow this rule"
    elif kind == "too_long":
        what, next_step = f"{leaf} has more than {context['max_length']} entries", "Remove some"
    else:
        what, next_step = f"{leaf}: {error['msg']}", "Change it to follow this rule"
    return [(steps, what, next_step)]


def _is_of_key(steps: tuple[Step, ...], error: ErrorDetails) -> bool:
    """Return whether an error is about a key of a map, which pydantic tells by a last step of its own."""
    return len(error["loc"]) > len(steps) and error["loc"][-1] == "[key]"


def _leaf(steps: tuple[Step, ...]) -> str:
    names = [step for step in steps if isinstance(step, str)]
    if steps and isinstance(steps[-1], int):
        return f"entry {steps[-1]} of {shown(names[-1])}" if names else f"entry {steps[-1]}"
    return shown(names[-1]) if names else "the document"


def _fix(value: Any, rule: str, fields: tuple[str, ...], *, required: bool) -> str:
    if value is None and not required:
        return "Give it a value, or remove the field"
    if isinstance(value, int | float) and rule == "text":
        return "Quote it"
    if isinstance(value, str) and (rule.endswith("number") or rule == "true or false"):
        return f"Write {rule}, without quotes"
    if rule == "a map" and fields:
        return f"Write a map with fields such as {', '.join(fields[:3])}"
    if rule == "a list":
        return "Write a list: each entry on a line of its own that begins with '- ', or all in [ ]"
    return f"Write {rule}"
