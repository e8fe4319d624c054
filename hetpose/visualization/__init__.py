"""Drawing of poses with uncertainty."""

from hetpose import lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__, {'HetPoseVisualizer': 'hetpose.visualization.local_visualizer'}
)
