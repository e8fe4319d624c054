# The paper's hybrid at learning rate 1e-2.
_base_ = ['./td-hybrid_vitpose-base_1xb32-100e_mpii-lsp-lspet-256x256.py']
optim_wrapper = dict(optimizer=dict(lr=1e-2))
