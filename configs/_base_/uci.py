_base_ = ['./study.py']
source = dict(type='UCISource')
dataset = 'concrete'
