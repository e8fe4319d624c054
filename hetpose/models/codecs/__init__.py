"""Keypoint codecs: from pixels to the units that a head predicts in, and back."""

from hetpose.models.codecs.soft_argmax_codec import SoftArgmaxCodec

__all__ = ['SoftArgmaxCodec']
