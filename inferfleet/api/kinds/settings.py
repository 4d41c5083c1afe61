"""Settings of a stack: the Pulumi configuration under the namespace `inferfleet`."""

from typing import Annotated, Literal

from pydantic import Field

from inferfleet.api.kinds.base import Model
from inferfleet.api.kinds.plugin_spec import PluginSpec


class Settings(Model):
    """What holds for a whole stack. `secrets` has names only: `namespace/name` to the keys of its values."""

    stack: Annotated[str, Field(pattern=r"^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$")]
    documents: str | None = None
    locked: bool | None = None
    unplaced: Literal["error", "warn"] = "error"
    await_: Literal["ready", "applied"] = Field(default="ready", alias="await")
    plugins: tuple[PluginSpec, ...] = ()
    secrets: dict[str, tuple[str, ...]] = {}
