import pytest
import torch

from hetpose.benchmarks import pose


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """The same measurements on a ViT that costs nothing."""
    arch = dict(embed_dims=16, num_layers=1, num_heads=2, feedforward_channels=16)
    head = dict(pose.HEAD, in_channels=16, deconv_out_channels=(8, 8))
    monkeypatch.setattr(pose, 'ARCH', arch)
    monkeypatch.setattr(pose, 'HEAD', head)


def test_rows():
    rows = pose.run(quick=True)
    assert len(rows) == 4
    assert all(row.required and row.metrics['seconds'] > 0 for row in rows)


def test_both_formulations_give_the_same_jacobian():
    """The two sides of the benchmark compute the same."""
    images = torch.randn(2, 3, 256, 256)
    model = pose.our_estimator(pose.TAYLOR, 'NLLObjective')
    torch.nn.init.normal_(model.head.final_layer.weight, std=0.5)
    model.eval()
    (features,) = model.extract_feat(images)
    z = model.head.bottleneck.down(features)
    ours = model.head.taylor_terms(features, z).jacobian
    general = pose.through_the_backbone(model, images).head.taylor_terms(features, z).jacobian
    assert general.abs().max() > 0
    torch.testing.assert_close(ours, general, rtol=1e-3, atol=1e-3 * general.abs().max().item())
