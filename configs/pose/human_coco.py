# The model `human` on COCO's people, which it never saw: the twelve joints that both have.
_base_ = ['./human.py']
test_dataloader = dict(
    dataset=dict(
        _delete_=True,
        type='COCO14Dataset',
        data_root='{{$HETPOSE_DATA:data}}/coco_mini/',
        ann_file='person_keypoints.json',
        data_prefix=dict(img='images'),
        pipeline=_base_.photographs,
        test_mode=True,
    )
)
test_evaluator = dict(joint_box=False)  # shares of COCO's box
