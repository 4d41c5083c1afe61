"""The two ways in which Google refuses: the request as a whole, or its operation after the object exists."""


class ApiError(Exception):
    """The API refused the request and nothing was changed.

    Its text is what the real provider prints: "googleapi: Error 400: ..., badRequest".
    """

    def __init__(self, code: int, message: str, reason: str) -> None:
        super().__init__(f"googleapi: Error {code}: {message}, {reason}")


class OperationError(Exception):
    """The object exists, but the operation on it failed; the text becomes the object's status message."""


def bad_request(message: str) -> ApiError:
    """Return the answer to inputs that the API does not accept."""
    return ApiError(400, message, "badRequest")


def not_found(resource_id: str) -> ApiError:
    """Return the answer to a request that names a resource which does not exist."""
    return ApiError(404, f"The resource '{resource_id}' was not found", "notFound")


def already_exists(resource_id: str) -> ApiError:
    """Return the answer to a create request for an ID that is taken."""
    return ApiError(409, f"The resource '{resource_id}' already exists", "alreadyExists")


def in_use(resource_id: str, *, by: str) -> ApiError:
    """Return the answer to a delete request for a resource that another one refers to."""
    message = f"The resource '{resource_id}' is already being used by '{by}'"
    return ApiError(400, message, "resourceInUseByAnotherResource")
