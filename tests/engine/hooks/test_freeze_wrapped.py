"""Training beside a frozen model, by a Runner."""

import pytest
import torch
from helpers_posthoc import batch, build, foreign_config, wrapped_config
from mmengine.runner import Runner
from torch.utils.data import Dataset


class Crops(Dataset):
    """Four crops with their samples."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        images, samples = batch(4)
        return dict(inputs=images[index], data_samples=samples[index])


def train(model, folder):
    torch.save(model.state_dict(), folder / 'start.pth')  # the Runner initialises weights itself
    runner = Runner(
        model=model,
        work_dir=str(folder),
        load_from=str(folder / 'start.pth'),
        train_dataloader=dict(
            dataset=Crops(),
            sampler=dict(type='DefaultSampler', shuffle=False),
            batch_size=2,
            collate_fn=dict(type='pseudo_collate'),
        ),
        train_cfg=dict(by_epoch=True, max_epochs=2),
        optim_wrapper=dict(optimizer=dict(type='AdamW', lr=1e-2, weight_decay=0.1)),
        custom_hooks=[dict(type='FreezeWrappedHook')],
        default_hooks=dict(checkpoint=None, logger=None),
        log_level='ERROR',
        default_scope='mmpose',
    )
    runner.train()


def test_only_the_error_model_learns_and_nothing_else_changes(tmp_path):
    model = build(wrapped_config('heatmap'))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    train(model, tmp_path)
    changed = {n for n, v in model.state_dict().items() if not torch.equal(v, before[n])}
    assert any('errors.branch' in name for name in changed)
    assert all(name.startswith('head.errors.') for name in changed), sorted(changed)


def test_another_model_is_refused(tmp_path):
    with pytest.raises(TypeError, match='PosthocCovarianceHead'):
        train(build(foreign_config('heatmap')), tmp_path)
