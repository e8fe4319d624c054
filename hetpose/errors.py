"""Errors that a user can correct."""


class UserError(Exception):
    """Bad input: one line that names it and what to do; tools print it without a trace."""

    def __init__(self, message: str = '') -> None:
        # A data loader's worker hands its error on with a trace around it: the last line is it.
        text = str(message)
        if text.startswith('Caught ') and 'DataLoader worker' in text:
            last = text.rstrip().splitlines()[-1]
            text = last.partition('Error: ')[2] or last
        super().__init__(text)


class PredictionError(UserError, ValueError):
    """A prediction is no distribution: it holds NaN, or its covariance is not definite."""


class BadSampleError(UserError):
    """One sample of a data set cannot be used; the others can."""


def unknown_name(kind: str, name: str, known: list[str] | tuple[str, ...]) -> UserError:
    """The error for a name that is not in a list: it shows the list."""
    return UserError(f'unknown {kind} {name!r}; known: {", ".join(sorted(known))}')
