"""Drawing of poses with uncertainty."""

from hetpose.visualization.local_visualizer import HetPoseVisualizer

__all__ = ['HetPoseVisualizer']
