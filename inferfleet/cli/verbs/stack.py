"""`inferfleet stack`: the manifests of what the stack installs on its clusters."""

from typing import Annotated

import typer

from inferfleet.cli.exit_codes import HELP
from inferfleet.cli.output import print_line
from inferfleet.cli.report import reporting
from inferfleet.cli.source import (
    AsJson,
    FleetFolder,
    FleetLock,
    FleetName,
    StackName,
    fleet_place,
    read_source,
    shown_path,
)
from inferfleet.documents.loading.installed import folder_of
from inferfleet.documents.problems import Problem, Where
from inferfleet.tables.addons import ADDONS

app = typer.Typer(
    add_completion=False,
    help="Write down what the stack installs on its clusters.",
    no_args_is_help=True,
)
Check = Annotated[
    bool, typer.Option("--check", help="Write nothing, and fail where files are not as they are rendered.")
]


@app.callback()
def _stack() -> None:
    pass


@app.command(epilog=HELP)
def render(
    stack: StackName = None,
    folder: FleetFolder = None,
    fleet: FleetName = None,
    lock_file: FleetLock = None,
    check: Check = False,
    as_json: AsJson = False,
) -> None:
    """Render the add-ons that documents have the stack install into `installed`, beside its lock.

    They are made from Go modules, whose digests inferfleet knows, by the `go` and `helm` on the PATH. Commit
    what is written: updates take it as it is.
    """
    with reporting(as_json=as_json) as report:
        source = read_source(None, stack, fleet=fleet_place(folder, stack, fleet, lock_file))
        report.documents = source.documents
        report.problems += source.notices
        if source.files is None:
            return
        # It runs programs, which no other verb does.
        from inferfleet.rendering.render import differences, texts, wanted_addons, write

        wanted = wanted_addons(source.documents, source.desired().clusters)
        rendered = texts(wanted)
        changed = differences(source.files, rendered)
        place = folder_of(source.files)
        if check:
            step = f"Run `inferfleet stack render {source.documents.options}`, and commit what it writes"
            report.problems += [
                Problem(f"the file is {each.how}", step, where=Where(shown_path(place / each.path), 1))
                for each in changed
            ]
        else:
            write(source.files, rendered)
        report.values["addons"] = [{"name": name, "version": version} for name, version in wanted]
        report.values["files"] = [
            {"file": shown_path(place / each.path), "was": each.how} for each in changed
        ]
        if not as_json:
            for name, version in sorted(wanted):
                print_line(f"{ADDONS[name].project} {version}: {shown_path(place / name / version)}")
            if not wanted:
                print_line(f"stack {source.files.stack} installs nothing on its clusters")
            elif not changed:
                print_line("all files are as they are rendered")
            elif not check:
                print_line(f"{len(changed)} files written or removed")
