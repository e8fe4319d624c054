"""From weights that others published to checkpoints that torch reads."""

from hetpose import lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    {name: f'{__name__}.{name}' for name in ('movenet', 'movenet_estimator', 'movenet_lspet')},
)
