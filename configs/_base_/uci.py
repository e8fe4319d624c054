_base_ = ['./suite.py']
source = dict(type='UCISource')
dataset = 'concrete'
