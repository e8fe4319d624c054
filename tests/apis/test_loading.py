"""A model from files, or one line that names what is wrong with them."""

from pathlib import Path

import pytest
import torch
from helpers_inference import NAMES, tiny_model, write_tiny
from mmengine.config import Config

from hetpose.apis.loading import build_network, load_pose_model
from hetpose.errors import UserError


def test_the_weights_are_those_of_the_file(tmp_path: Path) -> None:
    config, checkpoint = write_tiny(tmp_path)
    model = load_pose_model(config, checkpoint, 'cpu')
    stored = torch.load(checkpoint, weights_only=True)['state_dict']
    for name, value in model.network.state_dict().items():
        assert torch.equal(value, stored[name]), name
    assert not model.network.training
    assert model.name == 'tiny'
    assert model.joint_names == NAMES


def test_a_choice_of_joints_is_followed(tmp_path: Path) -> None:
    model = tiny_model(tmp_path, test_cfg=dict(output_keypoint_indices=[3, 0]))
    assert model.joint_names == ['head', 'left_wrist']


def test_the_joint_names_of_the_checkpoint_win(tmp_path: Path) -> None:
    config, checkpoint = write_tiny(tmp_path)
    content = torch.load(checkpoint, weights_only=True)
    content['meta'] = dict(dataset_meta=dict(keypoint_id2name=dict(enumerate('abcd'))))
    torch.save(content, checkpoint)
    assert load_pose_model(config, checkpoint, 'cpu').joint_names == list('abcd')


def test_targets_are_not_made(tmp_path: Path) -> None:
    steps = [type(step).__name__ for step in tiny_model(tmp_path).pipeline().transforms]
    assert steps == ['LoadImage', 'GetBBoxCenterScale', 'TopdownAffine', 'PackPoseInputs']


def test_checkpoints_that_do_not_fit(tmp_path: Path) -> None:
    config, checkpoint = write_tiny(tmp_path)
    with pytest.raises(UserError, match='checkpoint not found'):
        load_pose_model(config, tmp_path / 'absent.pth', 'cpu')
    wrong = tmp_path / 'wrong.pth'
    wrong.write_text('no checkpoint')
    with pytest.raises(UserError, match=r'wrong\.pth cannot be read'):
        load_pose_model(config, wrong, 'cpu')
    content = torch.load(checkpoint, weights_only=True)
    del content['state_dict']['head.final_layer.bias']
    torch.save(content, wrong)
    with pytest.raises(UserError, match=r'lacks 1 of .*, first head\.final_layer\.bias'):
        load_pose_model(config, wrong, 'cpu')
    _, other = write_tiny(tmp_path, 'other', bottleneck_dim=7)
    with pytest.raises(UserError, match='does not fit: .* there and .* in the model'):
        load_pose_model(config, other, 'cpu')


def test_configs_and_devices_that_do_not_fit(tmp_path: Path) -> None:
    config, checkpoint = write_tiny(tmp_path)
    with pytest.raises(UserError, match='config not found'):
        load_pose_model(tmp_path / 'absent.py')
    with pytest.raises(UserError, match='not a pose estimator'):
        load_pose_model(Config(dict(model=dict(type='Other'))))
    with pytest.raises(UserError, match='device'):
        load_pose_model(config, checkpoint, 'gpu')
    plain = Config.fromfile(config)
    plain.model.head = dict(
        type='HeatmapHead',
        in_channels=16,
        out_channels=4,
        loss=dict(type='KeypointMSELoss'),
    )
    with pytest.raises(UserError, match='HeatmapHead predicts no covariance'):
        load_pose_model(plain, device='cpu')


def test_options_reach_a_config_and_leave_the_callers_alone(tmp_path: Path) -> None:
    path, checkpoint = write_tiny(tmp_path)
    config = Config.fromfile(path)
    before = config.to_dict()
    model = load_pose_model(config, checkpoint, 'cpu', {'model.head.score_radius': 0.2})
    assert model.score_radius == 0.2
    assert model.name == 'tiny'
    assert config.to_dict() == before
    with pytest.raises(UserError, match='score_radios'):
        load_pose_model(config, checkpoint, 'cpu', {'model.head.score_radios': 0.2})


def test_a_checkpoint_behind_a_switch_has_the_settings_of_its_phase(tmp_path: Path) -> None:
    config, checkpoint = write_tiny(tmp_path)
    loaded = Config.fromfile(config)
    covariance = dict(loaded.model.head.covariance, floor=5.0)
    loaded.custom_hooks = [
        dict(type='ObjectiveSwitchHook', switches=[dict(epoch=1, covariance=covariance)])
    ]
    for switched in (False, True):
        if switched:
            head = load_pose_model(config, checkpoint, 'cpu').network.head
            head.switch(covariance=dict(covariance, floor=7.0))
            content = torch.load(checkpoint, weights_only=True)
            content['state_dict']['head._extra_state'] = head.get_extra_state()
            torch.save(content, checkpoint)
        found = load_pose_model(loaded, checkpoint, 'cpu').network.head.covariance.floor
        assert (found == 5.0) == switched


def test_only_the_weights_of_the_backbone_are_read_when_asked(tmp_path: Path) -> None:
    config = Config.fromfile(write_tiny(tmp_path)[0])
    torch.manual_seed(1)
    weights = build_network(config).backbone.state_dict()
    torch.save(dict(state_dict=weights), tmp_path / 'backbone.pth')
    config.model.backbone.init_cfg = dict(
        type='Pretrained', checkpoint=str(tmp_path / 'backbone.pth')
    )
    config.model.head.init_cfg = dict(type='Pretrained', checkpoint='missing.pth')
    for asked in (False, True):
        network = build_network(config, backbone_weights=asked)
        found = network.backbone.state_dict()
        assert all(torch.equal(found[name], value) for name, value in weights.items()) == asked
        assert not network.training
    assert config.model.head.init_cfg.checkpoint == 'missing.pth'
