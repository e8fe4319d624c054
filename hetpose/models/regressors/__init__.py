"""Mean and covariance networks for vector regression."""
