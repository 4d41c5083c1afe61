"""The plugin's answers to the engine: failures of a check, the changes of an update, and errors."""

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Self

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc.status_pb2 import Status
from pulumi.runtime.proto import errors_pb2  # noqa: F401  (registers the details' types)
from pulumi.runtime.proto import provider_pb2 as rpc

from sandbox.gcp.provider.check import Failure
from sandbox.gcp.provider.diff import Change
from sandbox.gcp.provider.wire import struct
from sandbox.gcp.rules.errors import ApiError, OperationError
from sandbox.gcp.store import Record
from sandbox.problem import SandboxProblem

_DIFF_KINDS = {
    ("add", False): rpc.PropertyDiff.ADD,
    ("add", True): rpc.PropertyDiff.ADD_REPLACE,
    ("update", False): rpc.PropertyDiff.UPDATE,
    ("update", True): rpc.PropertyDiff.UPDATE_REPLACE,
    ("delete", False): rpc.PropertyDiff.DELETE,
    ("delete", True): rpc.PropertyDiff.DELETE_REPLACE,
}


def check_failures(failures: Iterable[Failure]) -> list[Any]:
    """Return the failures as the engine's messages."""
    return [rpc.CheckFailure(property=failure.path, reason=failure.reason) for failure in failures]


def diff_response(changes: Iterable[Change], *, same_name: bool) -> Any:
    """Return the changes as the engine's answer to a diff.

    Two resources cannot have one name, so a replacement under the same name deletes the old one first.
    """
    all_changes = list(changes)
    replaces = sorted({_field_of(change.path) for change in all_changes if change.replace})
    return rpc.DiffResponse(
        changes=rpc.DiffResponse.DIFF_SOME if all_changes else rpc.DiffResponse.DIFF_NONE,
        replaces=replaces,
        diffs=sorted({_field_of(change.path) for change in all_changes}),
        deleteBeforeReplace=bool(replaces) and same_name,
        detailedDiff={
            change.path: rpc.PropertyDiff(kind=_DIFF_KINDS[change.action, change.replace])
            for change in all_changes
        },
        hasDetailedDiff=True,
    )


class ErrorReporting:
    """A context in which the cloud's errors end the engine's call with their text and without a traceback.

    A resource that exists but is not finished is handed to the engine with the reason, so that it is in the
    state of the program. Until `resource_id` is set, no resource exists.
    """

    def __init__(
        self,
        context: grpc.ServicerContext,
        read: Callable[[str], Record | None],
        inputs: dict[str, Any] | None = None,
        resource_id: str = "",
    ) -> None:
        self._context, self._read, self._inputs = context, read, inputs or {}
        self.resource_id = resource_id

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, OperationError) and self.resource_id:
            self._abort_unfinished(str(error))
        elif isinstance(error, (ApiError, OperationError, SandboxProblem)):
            self._context.abort(grpc.StatusCode.UNKNOWN, str(error))

    def _abort_unfinished(self, reason: str) -> None:
        record = self._read(self.resource_id)
        detail = rpc.ErrorResourceInitFailed(
            id=self.resource_id,
            properties=struct(record.state if record else {}),
            reasons=[reason],
            inputs=struct(self._inputs),
        )
        packed = AnyMessage()
        packed.Pack(detail)
        code = grpc.StatusCode.UNKNOWN
        status = Status(code=code.value[0], message=reason, details=[packed])
        self._context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
        self._context.abort(code, reason)


def _field_of(path: str) -> str:
    """Return the field of the resource that the path begins with."""
    return path.partition(".")[0].partition("[")[0]
