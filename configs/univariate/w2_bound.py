_base_ = ['../_base_/univariate.py', '../_base_/methods/w2_bound.py']
