"""Prepare, describe and show data sets."""
