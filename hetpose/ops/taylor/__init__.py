"""Jacobians and Hessian traces of mean networks, in closed form."""
