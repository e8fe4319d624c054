"""Layers between a backbone's pyramid and a heatmap head."""

from hetpose.models.necks.pyramid_fusion import PyramidFusion

__all__ = ['PyramidFusion']
