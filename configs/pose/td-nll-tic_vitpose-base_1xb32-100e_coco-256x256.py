# COCO's 17 joints, as a pattern for any data in COCO's format.
_base_ = [
    '../_base_/pose_runtime.py',
    '../_base_/models/vitpose_base.py',
    '../_base_/datasets/coco17.py',
]
model = dict(head=dict(decoder=_base_.codec, out_channels=17))
