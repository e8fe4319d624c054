"""Pose heads that predict a mean and a covariance."""
