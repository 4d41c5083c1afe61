"""Outside plugins as files, and the two ways in which they are installed."""

from pathlib import Path

import pytest
from fleet_of_one import OnDisk

OUTSIDE = Path(__file__).parent / "outside"
TEXTS = {file.stem: file.read_text() for file in sorted(OUTSIDE.glob("*.py"))}


def in_folder(project: OnDisk, module: str, text: str) -> None:
    """Put a module into the project's folder `plugins`."""
    project.write(f"plugins/{module}.py", text)


def as_package(
    site: Path, monkeypatch: pytest.MonkeyPatch, points: dict[str, str], *, version: str = "1.2.0"
) -> None:
    """Put a package with these entry points on Python's path, as an installer would."""
    made = OnDisk(site)
    info = f"acme_plugins-{version}.dist-info"
    made.write(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: acme-plugins\nVersion: {version}\n")
    lines = "".join(f"{name} = {value}\n" for name, value in points.items())
    made.write(f"{info}/entry_points.txt", f"[inferfleet.plugins]\n{lines}")
    monkeypatch.syspath_prepend(str(site))
