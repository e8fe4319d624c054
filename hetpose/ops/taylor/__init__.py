"""Jacobians and Hessian traces of mean networks, in closed form."""

from hetpose.ops.taylor.terms import TaylorTerms, soft_argmax_terms, taylor_terms

__all__ = ['TaylorTerms', 'soft_argmax_terms', 'taylor_terms']
