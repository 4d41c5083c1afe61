"""The `inferfleet` command: its verbs, each imported only when it is called."""

import importlib
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from inferfleet.cli.exit_codes import HELP, ExitCode
from inferfleet.documents.problems import InvalidDocuments, Problem
from inferfleet.documents.wording import shown

# Verb to module, with what the list of verbs says: the begin of the verb's own help. A verb's module holds a
# function of its name, or a typer app of its own called `app`.
VERBS = {
    "new": ("inferfleet.cli.verbs.new", "Write a project"),
    "validate": ("inferfleet.cli.verbs.validate", "Check documents, classes, settings, lock and policies"),
    "plan": (
        "inferfleet.cli.verbs.plan",
        "Show placements, what moves against placement.lock, and replicas without a place",
    ),
    "digest": (
        "inferfleet.cli.verbs.digest",
        "Show what changes for people between a commit and the working tree",
    ),
    "render": ("inferfleet.cli.verbs.render", "Print every Kubernetes object that should exist"),
    "stack": ("inferfleet.cli.verbs.stack", "Write down what the stack installs on its clusters"),
    "explain": (
        "inferfleet.cli.verbs.explain",
        "Explain a deployment: its shape, why it is placed there and not elsewhere",
    ),
    "status": ("inferfleet.cli.verbs.status", "Show what serves and what does not, and why"),
    "chat": ("inferfleet.cli.verbs.chat", "Ask a model of the stack one question"),
    "report": ("inferfleet.cli.verbs.report", "Write one picture of the fleet as an HTML file"),
    "doctor": ("inferfleet.cli.verbs.doctor", "Look whether an update has what it needs, and change nothing"),
    "capacity": (
        "inferfleet.cli.verbs.capacity",
        "Ask clusters, and Google about quotas and reservations, what there is for each pool",
    ),
    "recover": ("inferfleet.cli.verbs.recover", "Find what a killed update left behind, and fix it"),
    "classes": ("inferfleet.cli.verbs.classes", "List the classes of the catalogue and the stack"),
    "plugins": ("inferfleet.cli.verbs.plugins", "List the plugins that chains may name"),
    "schema": ("inferfleet.cli.verbs.schema", "Print the JSON Schema of all documents"),
    "sandbox": ("sandbox.verbs.sandbox", "A whole fleet on this machine"),
}


# Of the library, which does not export it.
_USAGE_ERROR: Any = typer.BadParameter.__mro__[1]


class Verbs(TyperGroup):
    """Imports a verb only when it is called, so that `plan` does not wait for what `sandbox` imports."""

    _listing = False

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **settings: Any,
    ) -> Any:
        """Run a verb; with `--json`, what is wrong with the command line is JSON too."""
        words = sys.argv[1:] if args is None else list(args)
        if "--json" not in words:
            return super().main(
                words, prog_name, complete_var, standalone_mode, windows_expand_args, **settings
            )
        try:
            code = super().main(words, prog_name, complete_var, False, windows_expand_args, **settings)
        except _USAGE_ERROR as wrong:
            code = _print_usage_error(wrong.format_message())
        sys.exit(code)

    def list_commands(self, ctx: Any) -> list[str]:
        return list(VERBS)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """List the verbs without importing them, which takes a second of CPU."""
        self._listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listing = False

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in VERBS:
            return None
        if self._listing:
            return TyperCommand(cmd_name, help=f"{VERBS[cmd_name][1]}.")
        try:
            module = importlib.import_module(VERBS[cmd_name][0])
        except KeyboardInterrupt:
            raise typer.Exit(ExitCode.INTERRUPTED) from None
        except ModuleNotFoundError as missing:
            if cmd_name != "sandbox":
                raise
            return _not_installed(missing.name or "")
        return _command(cmd_name, module)


def _not_installed(package: str) -> Any:
    """Return a verb in place of `sandbox`, which says what is missing: its packages are an extra."""

    def sandbox() -> None:
        """A whole fleet on this machine."""
        from inferfleet.cli.report import reporting

        with reporting():
            what = f"the sandbox needs packages that are not installed, such as {package}"
            raise InvalidDocuments([Problem(what, "Install them: pip install 'inferfleet[sandbox]'")])

    verb = typer.Typer(add_completion=False)
    verb.command("sandbox", context_settings={"ignore_unknown_options": True, "allow_extra_args": True})(
        sandbox
    )
    command = get_command(verb)
    command.name = "sandbox"
    return command


def _print_usage_error(message: str) -> int:
    from inferfleet.cli.report import reporting

    try:
        with reporting(as_json=True) as report:
            report.add([Problem(shown(message.rstrip("."), 300), "See --help")], "error")
            report.code = ExitCode.USAGE
    except typer.Exit as ended:
        return ended.exit_code
    return ExitCode.USAGE


def _command(name: str, module: Any) -> Any:
    verb: typer.Typer | None = getattr(module, "app", None)
    if verb is None:
        verb = typer.Typer(add_completion=False)
        verb.command(name, epilog=HELP)(getattr(module, name))
    command = get_command(verb)
    command.name = name
    return command


app = typer.Typer(
    cls=Verbs,
    help="Turn a few short documents into a running, routed GPU inference fleet.",
    epilog=HELP,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        from inferfleet.cli.output import print_line

        print_line(f"inferfleet {version('inferfleet')}")
        raise typer.Exit


@app.callback()
def _inferfleet(
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version, and end."),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the verb that the command line names."""
    app(prog_name="inferfleet")
