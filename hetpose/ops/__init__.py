"""Pure torch kernels: no registry, no state, any leading batch shape."""
