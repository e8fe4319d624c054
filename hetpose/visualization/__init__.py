"""Drawing of poses with uncertainty."""
