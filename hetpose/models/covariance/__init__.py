"""Covariance parameterisations: from raw network outputs to a positive definite matrix."""
