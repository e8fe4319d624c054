# The model `human` on photographs: hetpose test configs/pose/human.py CHECKPOINT, and what
# hetpose pack-model puts into the package.
_base_ = ['./td-anchored-student_movenet-thunder_1xb32-3e_lspet-256x256.py']
photographs = [*_base_.crop, dict(type='PackPoseInputs')]
val_dataloader = dict(
    num_workers=2,
    dataset=dict(
        _delete_=True, **_base_.split, split='validation', pipeline=photographs, test_mode=True
    ),
)
test_dataloader = dict(
    num_workers=2,
    dataset=dict(
        _delete_=True, **_base_.split, split='heldout', pipeline=photographs, test_mode=True
    ),
)
