import pytest
import torch
from mmpose.registry import MODELS

from hetpose.apis.calibration.predict import load_config, predict_split
from hetpose.apis.loading import load_network
from hetpose.errors import UserError

CONFIG = """
default_scope = 'mmpose'
custom_imports = dict(imports=['hetpose'])
model = dict(
    type='HeteroscedasticRegressor', in_dim=4, out_dim=4, objective=dict(type='NLLObjective'),
    covariance=dict(type='CholeskyCovariance'),
    network=dict(type='ResidualMLP', width=8, blocks=1),
)
loader = dict(
    batch_size=16, num_workers=0, collate_fn=dict(type='whole_batch'),
    sampler=dict(type='DefaultSampler', shuffle=False),
)
source = dict(type='CopulaSource', name='d4', count=200, pseudo_labels=False)
val_dataloader = dict(**loader, dataset=dict(type='RegressionDataset', source=source, split='val'))
train_dataloader = dict(
    batch_size=7, num_workers=0, collate_fn=dict(type='whole_batch'), drop_last=True,
    sampler=dict(type='DefaultSampler', shuffle=True),
    dataset=dict(type='RegressionDataset', source=source, split='train'),
)
custom_hooks = [
    dict(
        type='ObjectiveSwitchHook',
        switches=[dict(epoch=1, covariance=dict(type='FactorCovariance', floor=0.5))],
    )
]
"""


@pytest.fixture
def saved(tmp_path):
    """Config and checkpoints of 1 and 2 epochs, of the same weights."""
    path = tmp_path / 'unit.py'
    path.write_text(CONFIG)
    config = load_config(path)
    model = MODELS.build(config.model)
    for epoch in (1, 2):
        content = {'state_dict': model.state_dict(), 'meta': {'epoch': epoch}}
        torch.save(content, tmp_path / f'epoch_{epoch}.pth')
        model.switch(covariance=config.custom_hooks[0].switches[0].covariance)
    return config, tmp_path


def test_a_split_is_predicted_in_order_with_its_truth(saved):
    config, folder = saved
    model, _ = load_network(config, folder / 'epoch_1.pth')
    whole = predict_split(model, config, 'val', progress=False)
    assert whole.model == 'unit'
    assert whole.names == ('0', '1', '2', '3')
    assert len(whole) == 20
    dataset = config.val_dataloader.dataset
    batch = next(iter(predict_loader(dataset)))
    with torch.no_grad():
        mean, covariance = model.distribution(batch['x'])
    assert torch.allclose(whole.data.residual, (batch['y'] - mean).double())
    assert torch.allclose(whole.data.covariance, covariance.matrix.double(), atol=1e-5)
    few = predict_split(model, config, 'val', limit=3, progress=False)
    assert torch.equal(few.data.residual, whole.data.residual[:3])


def predict_loader(dataset):
    from mmpose.registry import DATASETS

    rows = DATASETS.build(dataset)
    return [rows.__getitems__(range(len(rows)))]


def test_the_training_split_is_read_whole_and_in_order(saved):
    config, folder = saved
    model, _ = load_network(config, folder / 'epoch_1.pth')
    found = predict_split(model, config, 'train', progress=False)
    assert len(found) == 160  # its own loader would drop the last, shuffled batch
    again = predict_split(model, config, 'train', progress=False)
    assert torch.equal(found.data.residual, again.data.residual)


def test_a_checkpoint_behind_a_switch_gets_the_covariance_it_was_trained_with(saved):
    config, folder = saved
    early, _ = load_network(config, folder / 'epoch_1.pth')
    late, _ = load_network(config, folder / 'epoch_2.pth')
    assert type(early.covariance).__name__ == 'CholeskyCovariance'
    assert type(late.covariance).__name__ == 'FactorCovariance'


def test_the_weights_that_were_kept_are_judged(saved):
    config, folder = saved
    content = torch.load(folder / 'epoch_2.pth', weights_only=True)
    kept = {
        name: value + 1.0 if value.is_floating_point() else value
        for name, value in content['state_dict'].items()
    }
    mean = {name: value for name, value in kept.items() if name.startswith('mean_network.')}
    rest = {name: value for name, value in kept.items() if name not in mean}
    content['keep_best'] = dict(mse=1.0, nll=1.0, mean=mean, rest=rest)
    torch.save(content, folder / 'kept.pth')
    last, _ = load_network(config, folder / 'kept.pth')
    config.custom_hooks.append(dict(type='KeepBestHook'))
    best, _ = load_network(config, folder / 'kept.pth')
    for name, value in best.state_dict().items():
        assert torch.equal(value, kept[name]), name
        assert torch.equal(last.state_dict()[name], content['state_dict'][name])
    load_network(config, folder / 'epoch_2.pth')  # nothing was kept yet


def test_what_is_missing_is_named(saved):
    config, folder = saved
    with pytest.raises(UserError, match='checkpoint not found'):
        load_network(config, folder / 'none.pth')
    (folder / 'torn.pth').write_bytes(b'PK')
    with pytest.raises(UserError, match='cannot be read'):
        load_network(config, folder / 'torn.pth')
    model, _ = load_network(config, folder / 'epoch_1.pth')
    with pytest.raises(UserError, match='no test_dataloader'):
        predict_split(model, config, 'test', progress=False)
    with pytest.raises(UserError, match='known: train, val, test'):
        predict_split(model, config, 'dev', progress=False)


@pytest.mark.parametrize('name', ['gpu', 'cuda:99', 'xpu:99'])
def test_a_device_that_is_not_there(saved, name):
    config, folder = saved
    with pytest.raises(UserError, match=f'device {name!r}'):
        load_network(config, folder / 'epoch_1.pth', name)


def test_a_suite_is_filled_in(root):
    config = load_config(root / 'configs' / 'multivariate' / 'hybrid.py', {'dataset': 'd4'})
    assert config.model.out_dim == 4
    assert config.val_dataloader.dataset.source.name == 'd4'
