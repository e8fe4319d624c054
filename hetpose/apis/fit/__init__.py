"""Fit the covariance of the errors of a published model."""
