# 256×256 crops with 64×64 heatmaps: the codec and both pipelines of the photographic sets.
codec = dict(type='SoftArgmaxCodec', input_size=(256, 256), heatmap_size=(64, 64), sigma=2)

train_pipeline = [
    dict(type='LoadPoseImage', on_error='skip'),
    dict(type='GetBBoxCenterScale'),
    dict(type='CovarianceTopdownAffine', input_size=codec['input_size'], use_udp=True),
    dict(type='CovarianceRandomAffine', shift=0.2, scale=0.25, rotate=45),
    dict(type='GenerateTarget', encoder=codec),
    dict(type='PackPoseInputs'),
]
val_pipeline = [
    dict(type='LoadPoseImage'),
    dict(type='GetBBoxCenterScale'),
    dict(type='CovarianceTopdownAffine', input_size=codec['input_size'], use_udp=True),
    dict(type='GenerateTarget', encoder=codec),
    dict(type='PackPoseInputs'),
]
