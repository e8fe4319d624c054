_base_ = ['./suite.py']
source = dict(type='SinusoidSource')
dataset = 'growing'
model = dict(network=dict(blocks=2, width=50, activation='tanh'))
optim_wrapper = dict(optimizer=dict(lr=1e-3))
