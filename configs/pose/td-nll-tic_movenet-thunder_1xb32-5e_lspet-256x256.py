# Frozen MoveNet Thunder on LSPET: the likelihood alone, with TIC.
_base_ = ['../_base_/pose_movenet.py']
