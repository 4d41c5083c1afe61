"""Every verb of `inferfleet` with its arguments and options, as Markdown."""

from collections.abc import Iterator
from typing import Any, get_args

import typer
from typer.main import get_command

from inferfleet.cli.main import app

NAME = "inferfleet"
_HEAD = "| argument or option | value | default | description |\n|---|---|---|---|"
_VALUES = {"str": "text", "int": "whole number", "float": "number", "Path": "path"}


def commands() -> Iterator[tuple[str, Any]]:
    """Yield every command with its whole name (`inferfleet sandbox up`), groups before what is in them."""
    yield from _below(NAME, get_command(app), None)


def _below(name: str, command: Any, parent: typer.Context | None) -> Iterator[tuple[str, Any]]:
    yield name, command
    if hasattr(command, "list_commands"):
        context = typer.Context(command, parent=parent, info_name=name)
        for verb in command.list_commands(context):
            yield from _below(f"{name} {verb}", command.get_command(context, verb), context)


def sections() -> Iterator[str]:
    """Yield the Markdown blocks of all commands."""
    for name, command in commands():
        if name == NAME:
            continue
        yield f"## `{name}`"
        yield from _paragraphs(command.help)
        if not hasattr(command, "list_commands"):
            yield f"```\n{_usage(name, command)}\n```"
            if command.params:
                yield "\n".join([_HEAD, *(_row(parameter) for parameter in command.params)])


def _paragraphs(text: str) -> Iterator[str]:
    yield from (_written(paragraph) for paragraph in text.split("\n\n"))


def _written(text: str) -> str:
    """Return the text on one line, where `<name>` outside of code is no tag of HTML."""
    parts = " ".join(text.split()).split("`")
    return "`".join(part if place % 2 else part.replace("<", "\\<") for place, part in enumerate(parts))


def _usage(name: str, command: Any) -> str:
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    options = ["[OPTIONS]"] if len(arguments) < len(command.params) else []
    return " ".join([name, *options, *map(_place, arguments)])


def _place(argument: Any) -> str:
    """Return `POD`, `[SERVICE]` where it can be left out, `[PATHS...]` where there may be several."""
    word = _named(argument) + ("..." if argument.nargs == -1 else "")
    return word if argument.required else f"[{word}]"


def _named(argument: Any) -> str:
    return str(argument.name).upper()


def _row(parameter: Any) -> str:
    option = parameter.param_type_name == "option"
    name = ", ".join(f"`{word}`" for word in parameter.opts) if option else f"`{_named(parameter)}`"
    default = parameter.default
    if parameter.required:
        default = "required"
    elif default is None or isinstance(default, bool):
        default = ""
    else:
        default = f"`{default}`"
    cells = (name, _value(parameter), default, _written(parameter.help))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _value(parameter: Any) -> str:
    """Return what is written after an option, or in the place of an argument; nothing for a flag."""
    if getattr(parameter, "is_flag", False):
        return ""
    # Where typer 0.29 keeps the annotation; older ones had a type of click's.
    kind = parameter.type_descriptor.annotation
    choices = get_args(kind)
    if choices and all(isinstance(choice, str) for choice in choices):
        return ", ".join(f"`{choice}`" for choice in choices)
    return _VALUES[(choices[0] if choices else kind).__name__]
