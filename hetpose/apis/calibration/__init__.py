"""Measure and correct how far predicted covariances can be trusted."""
