"""The `inferfleet` command: its verbs, each imported only when it is called."""

import importlib
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from inferfleet.api.problems import InvalidDocuments, Problem
from inferfleet.api.wording import shown
from inferfleet.cli.exit_codes import HELP, ExitCode

# Verb to module. A verb's module holds a function of its name, or a typer app of its own called `app`.
VERBS = {
    "new": "inferfleet.cli.verbs.new",
    "validate": "inferfleet.cli.verbs.validate",
    "plan": "inferfleet.cli.verbs.plan",
    "digest": "inferfleet.cli.verbs.digest",
    "render": "inferfleet.cli.verbs.render",
    "explain": "inferfleet.cli.verbs.explain",
    "status": "inferfleet.cli.verbs.status",
    "chat": "inferfleet.cli.verbs.clusters.chat",
    "report": "inferfleet.cli.verbs.report",
    "doctor": "inferfleet.cli.verbs.doctor",
    "capacity": "inferfleet.cli.verbs.clusters.capacity",
    "recover": "inferfleet.cli.verbs.recover",
    "classes": "inferfleet.cli.verbs.classes",
    "plugins": "inferfleet.cli.verbs.plugins",
    "schema": "inferfleet.cli.verbs.schema",
    "sandbox": "sandbox.verbs.sandbox",
}


# Of the library, which does not export it.
_USAGE_ERROR: Any = typer.BadParameter.__mro__[1]


class Verbs(TyperGroup):
    """Imports a verb only when it is called, so that `plan` does not wait for what `sandbox` imports."""

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
            code = _told_in_json(wrong.format_message())
        sys.exit(code)

    def list_commands(self, ctx: Any) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in VERBS:
            return None
        try:
            module = importlib.import_module(VERBS[cmd_name])
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
        """A whole fleet on this machine (its packages are not installed: inferfleet[sandbox])."""
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


def _told_in_json(message: str) -> int:
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
