_base_ = ['../_base_/uci.py', '../_base_/methods/nll_tic.py']
