"""Names of a converted MoveNet's weights in an estimator."""

from helpers_tfjs import small_network

from hetpose.apis.convert.movenet_estimator import estimator_weights


def test_every_weight_belongs_to_the_backbone_or_the_head():
    network = small_network()
    names = estimator_weights(network)
    assert len(names) == len(network.state_dict())
    assert all(name.startswith(('backbone.', 'head.heads.', 'head.centre')) for name in names)
