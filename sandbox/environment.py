"""The environment in which `pulumi` works on a stack's sandbox and on nothing else."""

import os
import sys
from pathlib import Path

from sandbox.gcp.access import cloud_programs, cloud_variables
from sandbox.places import StackPlaces
from sandbox.toolchain.tools import Tools


def environment(places: StackPlaces, tools: Tools) -> dict[str, str]:
    """The variables to set over the caller's own. The user's Pulumi home, backend and logins stay unused."""
    return {
        # Pulumi's language host runs the first `python` it finds.
        "PATH": os.pathsep.join(
            [str(python_folder(places)), *(str(one) for one in cloud_programs(places)), tools.path]
        ),
        "PULUMI_HOME": str(places.pulumi_home),
        "PULUMI_BACKEND_URL": f"file://{places.state}",
        "PULUMI_CONFIG_PASSPHRASE": "",
        "PULUMI_STACK": places.stack,
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        # The plugin is there; without this a missing one would be sought on the network for a long time.
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        # Engine and plugins live for seconds: a tenth of their time went into collecting garbage.
        "GOGC": "400",
        **cloud_variables(places),
    }


def python_folder(places: StackPlaces) -> Path:
    """The `bin` folder of the project's virtual environment, or of the Python that runs this."""
    own = places.root.resolve() / ".venv" / "bin"
    return own if (own / "python").exists() else Path(sys.prefix) / "bin"
