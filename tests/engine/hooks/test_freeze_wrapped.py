"""Training with a frozen model, by a Runner."""

import pytest
import torch
from helpers_pose import estimator, sample
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


def train(model, folder, hook='FreezeWrappedHook'):
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
        custom_hooks=[dict(type=hook)],
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


class Poses(Dataset):
    """Four pose samples for the small HeteroscedasticHead."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        image = torch.randn(3, 32, 32, generator=torch.Generator().manual_seed(index))
        return dict(inputs=image, data_samples=sample(index))


def test_only_the_covariance_branch_learns(tmp_path, monkeypatch):
    monkeypatch.setattr(f'{__name__}.Crops', Poses)
    model = estimator(heatmap_evidence=True)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    train(model, tmp_path, 'FreezeEstimateHook')
    changed = {n for n, v in model.state_dict().items() if not torch.equal(v, before[n])}
    assert 'head.covariance_branch.norm.running_mean' in changed
    assert any('covariance_branch.net' in name for name in changed)
    assert all(name.startswith('head.covariance_branch.') for name in changed), sorted(changed)
