_base_ = ['../_base_/univariate.py', '../_base_/methods/w2.py']
