"""Any top-down config of mmpose becomes one with a covariance, whole, or is refused by name."""

import pytest
from mmengine.config import Config

from hetpose.apis.add_covariance import add_covariance, converted_text, find_config
from hetpose.engine.config_file import load_config
from hetpose.engine.pose_setup import transforms
from hetpose.errors import UserError

pytestmark = pytest.mark.filterwarnings('ignore')

# name, channels of the features, layers that double, UDP, targets in the pipelines
CASES = [
    ('rtmpose-s_8xb256-420e_coco-256x192.py', 512, 3, False, 2),  # a second pipeline, EMA
    ('td-hm_res50_8xb64-210e_coco-256x192.py', 2048, 3, False, 1),
    ('td-reg_mobilenetv2_rle-pretrained-8xb64-210e_coco-256x192.py', 1280, 3, False, 1),  # a neck
    ('td-hm_litehrnet-18_8xb64-210e_coco-256x192.py', 40, 0, False, 1),
    ('ipr_res50_8xb64-210e_coco-256x256.py', 2048, 3, False, 1),
    ('cspnext-tiny_udp_8xb256-210e_coco-256x192.py', 384, 3, True, 2),
]


@pytest.mark.parametrize(('name', 'channels', 'doublings', 'udp', 'targets'), CASES)
def test_a_packaged_config(
    name: str, channels: int, doublings: int, udp: bool, targets: int
) -> None:
    before = load_config(find_config(name))
    after = add_covariance(before)
    head = after.model.head
    assert (head.in_channels, head.out_channels) == (channels, 17)
    assert len(head.get('deconv_out_channels', (256,) * 3) or ()) == doublings
    assert head.decoder.use_udp is udp
    assert 'loss' not in head  # a heatmap weight of 1 does not survive
    found = transforms(after, 'GenerateTarget')
    assert len(found) == targets
    assert all(node['encoder'] == head.decoder for _, node in found)
    assert set(after.model.test_cfg) <= {'flip_test'}
    assert before.model.head.type != 'HeteroscedasticHead'  # the caller's stays as it was
    neck = after.model.get('neck')
    assert neck is None or neck.type != 'GlobalAveragePooling'


def test_the_text_is_a_config(tmp_path) -> None:
    path = tmp_path / 'mine.py'
    path.write_text(converted_text('td-hm_res50_8xb64-210e_coco-256x192.py'))
    config = load_config(path)
    assert config.model.head.covariance.type == 'AnchoredCovariance'
    assert config.custom_hooks[-1].type == 'RefreshAnchorHook'
    assert [m.type for m in config.val_evaluator][1:] == [
        'HeteroscedasticPoseMetric',
        'CalibrationMetric',
    ]
    with pytest.raises(UserError, match='model.head is a HeteroscedasticHead already'):
        add_covariance(config)


def test_another_covariance() -> None:
    config = load_config(find_config('td-hm_res50_8xb64-210e_coco-256x192.py'))
    head = add_covariance(config, 'CholeskyCovariance').model.head
    assert head.objective.type == 'FaithfulObjective'
    made = add_covariance(config, 'StudentCovariance')
    assert made.model.head.objective.type == 'StudentNLLObjective'
    assert made.model.head.covariance.scale.initial_std == 12.8  # a fifth of 64 cells
    assert 'RefreshAnchorHook' in [hook['type'] for hook in made.custom_hooks]
    with pytest.raises(UserError, match='unknown covariance'):
        add_covariance(config, 'CholeskiCovariance')


def broken(**changes) -> Config:
    config = load_config(find_config('td-hm_res50_8xb64-210e_coco-256x192.py'))
    config.merge_from_dict(changes)
    return config


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'model.head.out_channels': 16}, r'model\.head\.out_channels is 16.*17 joints'),
        ({'model.type': 'BottomupPoseEstimator'}, r'model\.type is Bottomup'),
        ({'train_dataloader.dataset.pipeline.5.input_size': (128, 128)}, 'crop differently'),
        ({'model.head.decoder.heatmap_size': (50, 64)}, 'no doubling'),
        ({'model.backbone.depth': 51}, r'model\.backbone cannot be built: invalid depth'),
    ],
)
def test_what_cannot_be_converted_is_named(changes: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        add_covariance(broken(**changes))


def test_a_config_is_found_by_name() -> None:
    with pytest.raises(UserError, match='config not found: nowhere.py'):
        find_config('nowhere.py')
