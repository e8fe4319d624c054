_base_ = ['../_base_/multivariate.py', '../_base_/methods/beta_nll.py']
