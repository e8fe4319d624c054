"""Training objectives of heteroscedastic regression."""
