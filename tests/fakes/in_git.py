"""A project in a git repository, whose commits tests compare with."""

import os
import subprocess
from pathlib import Path


def git(folder: Path, *words: str) -> str:
    """What git prints, whatever the environment says of another repository."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    identity = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.com")
    done = subprocess.run(
        ["git", *identity, *words], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def commit(root: Path) -> str:
    """Commit all that is in the folder, and return the hash of the commit."""
    if not (root / ".git").exists():
        git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--allow-empty", "--message=some")
    return git(root, "rev-parse", "HEAD")
