"""The Pulumi program: load the stack, decide what is desired, register it.

The `__main__.py` of a project calls `main` with its folder, and is nothing besides.
"""

import os
from datetime import date
from pathlib import Path

import pulumi
from pulumi.runtime.config import get_config_env

from inferfleet.starting import collect_seldom


def main(root: Path) -> None:
    """Register all that the stack's documents in the project `root` say, and export the stack's outputs.

    Raises RunError with every problem where the run must not go on.
    """
    collect_seldom()
    from inferfleet.clusters.connections.google import addresses
    from inferfleet.clusters.update.confirm import confirmer
    from inferfleet.clusters.update.hooks import hook_caller
    from inferfleet.clusters.update.pods import pod_listener
    from inferfleet.components.secrets import secret_values
    from inferfleet.components.stack import register_stack
    from inferfleet.documents import InvalidDocuments
    from inferfleet.documents.loading.settings import in_ci
    from inferfleet.plugins.loading import outside_allowed
    from inferfleet.run import prepare

    prefix = "inferfleet:"
    config = {
        key.removeprefix(prefix): value for key, value in get_config_env().items() if key.startswith(prefix)
    }
    preview = pulumi.runtime.is_dry_run()
    google = addresses(os.environ)
    try:
        prepared = prepare(
            root,
            pulumi.get_stack(),
            config,
            ci=in_ci(os.environ),
            preview=preview,
            today=date.today(),
            google=google,
            outside_plugins=outside_allowed(os.environ),
            parallel=pulumi.runtime.settings.SETTINGS.parallel,
        )
    except InvalidDocuments as invalid:
        raise pulumi.RunError(str(invalid)) from None
    for warning in prepared.warnings:
        pulumi.log.warn(str(warning))
    if not preview:
        prepared.remember()
    outputs = register_stack(
        prepared.desired,
        prepared.kubeconfigs,
        secret_values(config.get("secrets")),
        prepared.addresses,
        hook_caller(prepared.desired, prepared.kubeconfigs, container_api=google.container),
        pod_listener(prepared.desired, prepared.kubeconfigs, container_api=google.container),
        confirmer(prepared.desired, prepared.kubeconfigs, container_api=google.container),
        preview=preview,
    )
    for name, value in outputs.items():
        pulumi.export(name, value)
