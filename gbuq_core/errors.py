"""The errors that gbuq raises on purpose: each message is one sentence fit for a user."""

from collections.abc import Callable
from typing import Any


class GbuqError(ValueError):
    """Base of all errors whose message says what is wrong and what to do."""


class InvalidParameter(GbuqError):
    """A knob, a URL parameter or a constructor argument has an impossible value."""


class MissingPackage(InvalidParameter):
    """What was asked for needs a package that is not installed."""


class InvalidData(GbuqError):
    """Arrays or a table cannot be used as they are."""


class TableError(InvalidData):
    """A file cannot be read as a table."""


class ModelFileError(GbuqError):
    """A saved model is damaged, foreign, or of a version this code does not read."""


class UnknownLoss(ModelFileError):
    """A model file that does not say by which loss its model was trained."""


class OldModelFile(ModelFileError):
    """A model file of a version whose models are not read any more."""


class UntrustedModel(ModelFileError):
    """A model file that is only read from those whom the reader trusts."""


class ProjectError(GbuqError):
    """A project file is damaged, foreign, of a version this code does not read, or misused."""


class ClusterError(GbuqError):
    """A cluster does not answer, does not fit to this process, or has lost what it was given."""


class MemoryLimitExceeded(GbuqError):
    """A fit would need more memory than there is."""


class LimitReached(GbuqError):
    """A visitor of a shared server has used as much as the server allows."""


class Cancelled(Exception):
    """Nobody wants the result of this fit any more. Not an error to show."""


def refusal_of_call(call: Callable[..., Any], *arguments: Any) -> str:
    """The sentence with which a call is refused; empty if it is not."""
    try:
        call(*arguments)
    except GbuqError as error:
        return str(error)
    return ""
