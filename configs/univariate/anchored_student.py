_base_ = ['../_base_/univariate.py', '../_base_/methods/anchored_student.py']
