_base_ = ['./study.py']
source = dict(type='CopulaSource')
dataset = 8
