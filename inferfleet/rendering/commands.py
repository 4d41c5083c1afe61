"""The programs that manifests of add-ons are made with: `go`, which fetches modules, and `helm`."""

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from inferfleet.documents.problems import InvalidDocuments, Problem
from inferfleet.documents.wording import shown
from inferfleet.tables.addons import Release

# Go checks a module with the digests of a database that not every network reaches; each has one in our table.
_ENVIRONMENT = {"GOFLAGS": "-mod=mod", "GOSUMDB": "off", "GOWORK": "off", "GOTOOLCHAIN": "local"}
_INSTALL = {
    "go": "Install Go (https://go.dev/doc/install): add-ons are fetched with it, as modules",
    "helm": "Install Helm 3.14 or later (https://helm.sh/docs/intro/install/): charts are rendered with it",
}
# For what charts ask of the cluster that they are rendered for, so that all machines render the same.
_KUBERNETES = "1.34.0"


def module_folder(release: Release, path: str | None = None) -> Path:
    """Return the folder with the files of a release, fetched where it is not on this machine yet.

    Programs are those on the PATH, or on `path`.

    Raises InvalidDocuments where it cannot be had, or is another than the table knows.
    """
    module = f"{release.module}@{release.module_version}"
    fetched = json.loads(_run(["go", "mod", "download", "-json", module], path, check=False) or "{}")
    if "Dir" not in fetched:
        what = f"module {module} cannot be fetched: {shown(str(fetched.get('Error')), 300)}"
        step = "See that the network reaches the proxy for Go modules (`go env GOPROXY`)"
        raise InvalidDocuments([Problem(what, step)])
    if fetched["Sum"] != release.digest:
        what = f"module {module} has digest {fetched['Sum']}, and not {release.digest}"
        step = "Find out what the proxy for Go modules has done: the version was changed after its release"
        raise InvalidDocuments([Problem(what, step)])
    return Path(fetched["Dir"])


def rendered_chart(
    chart: Path,
    *,
    release: str,
    namespace: str,
    values: Sequence[Mapping[str, object]],
    defaults: str = "",
    hooks: bool = False,
    path: str | None = None,
) -> str:
    """Return what Helm makes of a chart with values of which the later count, of its hooks too where these
    are wanted. `defaults` is a file of the chart with values that count before all. Raises InvalidDocuments.

    It is rendered as an upgrade: where it is not, Istio's chart has webhooks fail open until istiod changes
    that, which an update would then change back.
    """
    with tempfile.TemporaryDirectory() as folder:
        options = ["--values", str(chart / defaults)] if defaults else []
        for number, each in enumerate(values):
            file = Path(folder, f"{number}.json")
            file.write_text(json.dumps(each))
            options += ["--values", str(file)]
        options += ["--kube-version", _KUBERNETES, "--is-upgrade", *([] if hooks else ["--no-hooks"])]
        return _run(["helm", "template", release, str(chart), "--namespace", namespace, *options], path)


def _run(command: list[str], path: str | None, *, check: bool = True) -> str:
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env={**os.environ, **_ENVIRONMENT, **({} if path is None else {"PATH": path})},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
        except FileNotFoundError:
            name = command[0]
            what = f"there is no `{name}` on the PATH"
            raise InvalidDocuments([Problem(what, _INSTALL[name])]) from None
    if check and done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        what = f"`{' '.join(command[:2])}` failed: {shown(' '.join(lines[-3:]), 500)}"
        raise InvalidDocuments([Problem(what, "Correct the values of the add-on in its document")])
    return done.stdout
