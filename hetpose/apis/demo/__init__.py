"""The training demo and its pictures."""
