"""Runner hooks."""
