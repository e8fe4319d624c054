"""Pictures in, people with covariances out."""
