_base_ = ['./study.py']
source = dict(type='CopulaSource')
dataset = 'd8'
