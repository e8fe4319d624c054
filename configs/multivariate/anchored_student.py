_base_ = ['../_base_/multivariate.py', '../_base_/methods/anchored_student.py']
