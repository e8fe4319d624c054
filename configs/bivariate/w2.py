_base_ = ['../_base_/bivariate.py', '../_base_/methods/w2.py']
