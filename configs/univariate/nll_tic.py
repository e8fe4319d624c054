_base_ = ['../_base_/univariate.py', '../_base_/methods/nll_tic.py']
