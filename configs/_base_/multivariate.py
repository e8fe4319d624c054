_base_ = ['./suite.py']
source = dict(type='CopulaSource')
dataset = 'd8'
