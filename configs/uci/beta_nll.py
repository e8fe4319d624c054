_base_ = ['../_base_/uci.py', '../_base_/methods/beta_nll.py']
