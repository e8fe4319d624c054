"""Heads, regressors, covariance parameterisations and objectives."""
