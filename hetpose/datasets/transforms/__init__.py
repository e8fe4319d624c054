"""Transforms that move keypoints, image and covariance together."""
