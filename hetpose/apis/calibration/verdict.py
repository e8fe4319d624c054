"""The meaning of calibration scores, in a sentence or two."""

from __future__ import annotations

from collections.abc import Mapping

from hetpose.evaluation.functional.scores import HEADLINE_LEVELS, Scores

ERRORS = 3  # standard errors that chance is given
UNLIKELY = 1e-3  # a p-value below this is no chance
NAMED = 3  # joints that are listed


def verdict(overall: Scores, parts: Mapping[str, Scores] | None = None) -> str:
    """Whether covariances are right, and if not, in what they are wrong.

    The scale is judged by the mean of rᵀΛr for each dimension, which is 1, with variance 2 for
    each dimension. A right scale on average tells nothing about the whole: the ellipsoids of all
    dimensions must hold what they promise, and PIT must be uniform. Of heavy tails a mean of
    squares has no useful standard error; there coverage judges the scale.
    """
    factor = f'squared errors are {overall.chi2:.2f} times what the covariances promise'
    held = f'90% ellipsoids of all dimensions hold {overall.covered(0.9):.1%}'
    margin = ERRORS * (2 / overall.dims) ** 0.5
    side = _side(overall) if overall.heavy_tailed else 0
    if not overall.heavy_tailed and abs(overall.chi2 - 1) > margin:
        side = 1 if overall.chi2 > 1 else -1
    if side:
        reasons = held if overall.heavy_tailed else f'{factor}; {held}'
        return f'{"Over" if side > 0 else "Under"}-confident: {reasons}.{_worst(parts)}'
    if _whole_is_right(overall):
        right = held if overall.heavy_tailed else f'{factor}; {held}'
        return f'Calibrated: scale and shape are right within sampling error: {right}.'
    p = max(overall.ks_pvalue, 1e-6)
    scale = held if overall.heavy_tailed else f'{factor} on average, but {held}'
    return (
        f'Not calibrated: {scale}, and PIT is not uniform '
        f'(p {"<" if p <= 1e-6 else "="} {p:.1g}): {_shape(overall)}.{_worst(parts)}'
    )


def _gap(scores: Scores, level: float) -> float:
    """Coverage minus level, in standard errors of a share."""
    return (scores.covered(level) - level) / (level * (1 - level) / scores.count) ** 0.5


def _side(scores: Scores) -> int:
    """1 for over-confident, -1 for under-confident, 0 for neither, by the coverage of 90%."""
    gap = _gap(scores, 0.9)
    return 0 if abs(gap) <= ERRORS else (1 if gap < 0 else -1)


def _whole_is_right(scores: Scores) -> bool:
    covered = all(abs(_gap(scores, level)) <= ERRORS for level in HEADLINE_LEVELS)
    return covered and not scores.ks_pvalue < UNLIKELY


def _shape(scores: Scores) -> str:
    """The shape of errors that gives these coverages at a right scale."""
    inner, outer = _gap(scores, 0.5), _gap(scores, 0.95)
    if outer < 0 <= inner:
        if scores.heavy_tailed:
            return (
                'many errors are small and few are gross, more than even these tails have; '
                'conformal ellipsoids hold what they name all the same'
            )
        return (
            'many errors are small and few are gross, more than a Gaussian has; a Student-t or '
            'conformal ellipsoids fit such tails, a factor on the covariance does not'
        )
    if inner < 0 and outer < 0:
        return (
            'some samples are much worse than predicted, or the correlations are wrong; a factor '
            'on the covariance does not help'
        )
    return 'the errors vary less between samples than the covariances do'


def _worst(parts: Mapping[str, Scores] | None) -> str:
    """The joints whose own scale is furthest off, where there are several.

    By the mean of rᵀΛr, so that it is left out for heavy tails.
    """
    if not parts or len(parts) < 2 or any(scores.heavy_tailed for scores in parts.values()):
        return ''
    off = {
        name: scores.chi2
        for name, scores in parts.items()
        if abs(scores.chi2 - 1) > ERRORS * (2 / scores.dims) ** 0.5
    }
    if not off:
        return ''
    worst = sorted(off, key=lambda name: -max(off[name], 1 / max(off[name], 1e-9)))[:NAMED]
    return ' Furthest off: ' + ', '.join(f'{name} ({off[name]:.2f} times)' for name in worst) + '.'
