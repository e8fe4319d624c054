"""A covariance that is trained by itself: the mean stays, the likelihood gets better."""

from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from mmpose.registry import MODELS

from hetpose.apis.fit.branch import BranchModel, branch_rows, fit_branch
from hetpose.apis.fit.training import TrainingSettings
from hetpose.errors import UserError
from tests.apis.data.test_feature_views import MODEL, SPATIAL, TARGETS
from tests.datasets.pose.test_lsp import make_lspet

PART = dict(type='LSPETDataset', pipeline=[*SPATIAL[:3], *TARGETS])


@pytest.fixture
def config(tmp_path: Path) -> Config:
    make_lspet(tmp_path / 'lspet', count=40, absent=())
    part = dict(PART, data_root=str(tmp_path / 'lspet'))
    head = dict(
        MODEL['head'],
        covariance=dict(type='AnchoredCovariance', floor=1e-2),
        objective=dict(type='AnchoredNLLObjective', prior=0.1),
        heatmap_evidence=True,
    )
    return Config(
        dict(
            model=dict(MODEL, head=head),
            train_dataloader=dict(dataset=dict(part, split='train', heldout=0.3)),
            val_dataloader=dict(dataset=dict(part, split='heldout', heldout=0.3)),
        )
    )


@pytest.fixture
def mean(config: Config, tmp_path: Path) -> Path:
    torch.manual_seed(0)
    torch.save(dict(state_dict=MODELS.build(config.model).state_dict()), tmp_path / 'mean.pth')
    return tmp_path / 'mean.pth'


def test_only_the_covariance_changes_and_the_likelihood_gets_better(
    config: Config, mean: Path, tmp_path: Path
) -> None:
    out = tmp_path / 'fitted.pth'
    settings = TrainingSettings(epochs=3, batch_size=8)
    best = fit_branch(config, mean, out, settings, progress=False)
    before = torch.load(mean, weights_only=True)['state_dict']
    after = torch.load(out, weights_only=False)['state_dict']
    assert before.keys() == after.keys()
    for name, value in after.items():
        if '.covariance_branch.' not in name and '_extra_state' not in name:
            assert torch.equal(value, before[name]), name
    assert not torch.equal(
        after['head.covariance_branch.parameterisation.anchor'],
        before['head.covariance_branch.parameterisation.anchor'],
    )
    model = MODELS.build(config.model).eval()
    model.load_state_dict(before)
    held = branch_rows(model, _built(config.val_dataloader.dataset))
    (untrained,) = BranchModel(model.head, 64)(**held.arrays, mode='predict')
    assert best < untrained['nll'].mean()
    again = fit_branch(config, mean, out, settings, progress=False)
    assert again == pytest.approx(best, abs=1e-5)


def test_rows_are_what_the_head_sees(config: Config, mean: Path) -> None:
    model = MODELS.build(config.model).eval()
    dataset = _built(config.val_dataloader.dataset)
    rows = branch_rows(model, dataset, batch_size=4)
    assert len(rows) == len(dataset)
    images = torch.stack([dataset[i]['inputs'] for i in range(3)])
    samples = [dataset[i]['data_samples'] for i in range(3)]
    data = model.data_preprocessor(dict(inputs=list(images), data_samples=samples))
    with torch.no_grad():
        predicted = model.head(model.extract_feat(data['inputs']))
    row = BranchModel(model.head, 64).distribution(rows.arrays['evidence'][:3])
    torch.testing.assert_close(row.matrix, predicted.covariance.matrix)
    target = torch.cat([one.gt_instance_labels.keypoint_labels for one in samples]).flatten(1)
    torch.testing.assert_close(rows.arrays['residual'][:3], target - predicted.mean)


def test_taylor_terms_and_other_heads_are_refused(
    config: Config, mean: Path, tmp_path: Path
) -> None:
    config.model.head.covariance = dict(
        type='TaylorInducedCovariance', order='gradient', floor=1e-2
    )
    config.model.head.objective = dict(type='NLLObjective')
    with pytest.raises(UserError, match='Taylor terms'):
        fit_branch(config, mean, tmp_path / 'x.pth', progress=False)
    assert not (tmp_path / 'x.pth').exists()


def _built(settings: dict):
    from mmpose.registry import DATASETS

    return DATASETS.build(settings)
