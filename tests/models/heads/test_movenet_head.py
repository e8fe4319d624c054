"""MoveNet's heads as a head of mmpose."""

import numpy as np
import pytest
import torch
from helpers_posthoc import COVARIANCE, OBJECTIVE
from helpers_tfjs import small_network
from mmengine.structures import InstanceData
from mmpose.registry import MODELS
from mmpose.structures import PoseDataSample

from hetpose.apis.convert.movenet_estimator import estimator_weights, save_estimator
from hetpose.errors import UserError
from hetpose.models.heads.movenet_heads import PIXEL_SCALE

FLIP = [0, 2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14, 13, 16, 15]


def estimator(network, wrapped=False, **test_cfg):
    head = dict(type='MoveNetHead', size=tuple(network.centre_weight.shape))
    if wrapped:
        head = dict(
            type='PosthocCovarianceHead', head=head, covariance=COVARIANCE, objective=OBJECTIVE
        )
    width = network.backbone.stem.out_channels / 32
    model = MODELS.build(
        dict(
            type='TopdownPoseEstimator',
            backbone=dict(type='MoveNet', width=width, out_indices=(3,)),
            head=head,
            test_cfg=test_cfg,
        )
    )
    found = model.load_state_dict(estimator_weights(network), strict=False)
    assert not found.unexpected_keys
    return model.eval()


def samples(count, size):
    made = []
    for _ in range(count):
        data = PoseDataSample()
        data.gt_instances = InstanceData(
            bboxes=np.float32([[0, 0, size, size]]), bbox_scores=np.ones(1, np.float32)
        )
        scale = np.float32([size, size])
        data.set_metainfo(
            dict(
                input_size=(size, size),
                input_center=scale / 2,
                input_scale=scale,
                flip_indices=FLIP,
            )
        )
        made.append(data)
    return made


def test_it_finds_the_person_that_the_network_itself_finds():
    network = small_network()
    images = torch.rand(2, 3, 64, 64) * 255
    with torch.no_grad():
        keypoints, scores = network.person(images)
        found = estimator(network).predict(images * PIXEL_SCALE - 1, samples(2, 64))
    for one, place, score in zip(found, keypoints, scores, strict=True):
        np.testing.assert_allclose(one.pred_instances.keypoints[0], place, atol=1e-3)
        np.testing.assert_array_equal(one.pred_instances.keypoint_scores[0], score)


@pytest.mark.parametrize('flip', [False, True])
def test_wrapped_it_predicts_the_same_bit_for_bit(flip):
    network = small_network()
    images = torch.rand(2, 3, 64, 64) * 2 - 1
    with torch.no_grad():
        theirs = estimator(network, flip_test=flip).predict(images, samples(2, 64))
        ours = estimator(network, wrapped=True, flip_test=flip).predict(images, samples(2, 64))
    for one, other in zip(theirs, ours, strict=True):
        for name in ('keypoints', 'keypoint_scores'):
            assert np.array_equal(one.pred_instances[name], other.pred_instances[name])
        assert other.pred_instances.covariances.shape == (1, 34, 34)


def test_a_mirrored_image_gives_the_mirrored_person_in_a_flip_test():
    network = small_network()
    images = torch.rand(1, 3, 64, 64) * 2 - 1
    model = estimator(network, flip_test=True)
    with torch.no_grad():
        straight = model.predict(images, samples(1, 64))[0].pred_instances.keypoints[0]
        mirrored = model.predict(images.flip(-1), samples(1, 64))[0].pred_instances.keypoints[0]
    back = mirrored[FLIP] * np.float32([-1, 1]) + np.float32([64, 0])
    np.testing.assert_allclose(straight, back, atol=1e-3)


def test_a_network_of_many_people_is_refused(tmp_path):
    with pytest.raises(UserError, match='one person'):
        save_estimator(small_network(many=True), tmp_path / 'many.pth')
