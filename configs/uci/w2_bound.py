_base_ = ['../_base_/uci.py', '../_base_/methods/w2_bound.py']
