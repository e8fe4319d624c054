"""Errors that a user can mend."""


class UserError(Exception):
    """Bad input: one line that names it and says what to do; tools print it without a trace."""


class PredictionError(UserError, ValueError):
    """What a model predicts is no Gaussian: NaN, or a covariance that is not definite."""


def unknown_name(kind: str, name: str, known: list[str] | tuple[str, ...]) -> UserError:
    """The error for a name that is not in a list: it shows the list."""
    return UserError(f'unknown {kind} {name!r}; known: {", ".join(sorted(known))}')
