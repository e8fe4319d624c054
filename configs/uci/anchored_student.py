_base_ = ['../_base_/uci.py', '../_base_/methods/anchored_student.py']
