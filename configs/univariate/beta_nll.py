_base_ = ['../_base_/univariate.py', '../_base_/methods/beta_nll.py']
