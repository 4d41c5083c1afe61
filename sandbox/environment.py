"""The environment variables with which `pulumi` works on a stack's sandbox and on nothing else."""

import os
import sys
from pathlib import Path

from sandbox.gcp.access import cloud_programs, cloud_variables
from sandbox.places import StackPlaces
from sandbox.toolchain.tools import Tools


def environment(places: StackPlaces, tools: Tools) -> dict[str, str]:
    """Return the variables to set over the caller's own.

    The user's own Pulumi home, backend and logins are not used.
    """
    return {
        # Pulumi's language host runs the first `python` on the PATH.
        "PATH": os.pathsep.join(
            [str(folder) for folder in (python_folder(places), places.programs, *cloud_programs(places))]
            + [tools.path]
        ),
        "PULUMI_HOME": str(places.pulumi_home),
        "PULUMI_BACKEND_URL": f"file://{places.state}",
        "PULUMI_CONFIG_PASSPHRASE_FILE": str(places.passphrase),
        "PULUMI_STACK": places.stack,
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        # All plugins are installed already. Without this Pulumi would search the network for a missing one.
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        # By default four operations per CPU, and one that waits for pods occupies one of them.
        "PULUMI_PARALLEL": "128",
        # Engine and plugins live for seconds and would spend a tenth of them on garbage collection.
        "GOGC": "400",
        **cloud_variables(places),
    }


def python_folder(places: StackPlaces) -> Path:
    """Return the `bin` folder of the project's virtual environment, or of the Python that runs this."""
    own = places.root.resolve() / ".venv" / "bin"
    return own if (own / "python").exists() else Path(sys.prefix) / "bin"
