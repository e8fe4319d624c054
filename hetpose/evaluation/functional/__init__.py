"""Metric kernels as pure functions."""
