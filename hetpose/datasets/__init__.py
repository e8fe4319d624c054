"""Pose, tabular and synthetic data sets."""
