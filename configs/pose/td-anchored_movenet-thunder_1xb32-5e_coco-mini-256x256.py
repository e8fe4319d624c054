# A test on people of COCO, by the 12 limb joints that it shares with LSPET; nothing is trained.
_base_ = ['./td-anchored_movenet-thunder_1xb32-5e_lspet-256x256.py']
limbs = [(16, 0), (14, 1), (12, 2), (11, 3), (13, 4), (15, 5)]
limbs += [(10, 6), (8, 7), (6, 8), (5, 9), (7, 10), (9, 11)]
test_dataloader = dict(
    dataset=dict(
        _delete_=True,
        type='CocoDataset',
        data_root='data/coco_mini',
        ann_file='person_keypoints.json',
        data_prefix=dict(img='images/'),
        metainfo=dict(from_file='hetpose/datasets/pose/lsp14.py'),
        pipeline=[
            dict(type='KeypointConverter', num_keypoints=14, mapping=limbs),
            *_base_.crop,
            *_base_.from_maps,
        ],
        test_mode=True,
    )
)
test_evaluator = dict(joint_box=False)
