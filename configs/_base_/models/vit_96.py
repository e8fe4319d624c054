# A ViT that trains on a CPU in minutes, for 128×128 images and 32×32 heatmaps.
_base_ = ['./vit_64.py']
model = dict(
    backbone=dict(
        arch=dict(embed_dims=96, num_layers=4, feedforward_channels=384),
        img_size=128,
    ),
    head=dict(in_channels=96, deconv_out_channels=(32, 16), covariance=dict(floor=1e-3)),
    test_cfg=dict(flip_test=False),
)
