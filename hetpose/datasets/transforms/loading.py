"""Loading an image that may not be readable."""

from __future__ import annotations

from typing import Any

from mmengine.logging import print_log
from mmpose.datasets.transforms import LoadImage
from mmpose.registry import TRANSFORMS

from hetpose.errors import BadSampleError

_LOGGED = 10  # per process; the count goes on


@TRANSFORMS.register_module()
class LoadPoseImage(LoadImage):
    """mmpose's LoadImage that names the file it cannot read, and can skip it.

    Required, Modified and Added Keys: those of LoadImage.

    Args:
        on_error (str): 'raise', or 'skip': count it, log it, and let the data set draw another
            sample (for training).
    """

    covariance_safe = True

    def __init__(self, on_error: str = 'raise', **kwargs: Any) -> None:
        if on_error not in ('raise', 'skip'):
            raise ValueError(f"on_error must be 'raise' or 'skip', got {on_error!r}")
        super().__init__(**kwargs)
        self.on_error, self.skipped = on_error, 0

    def transform(self, results: dict[str, Any]) -> dict[str, Any] | None:
        """Load the image, or deal with one that does not load."""
        path = results.get('img_path')
        try:
            return super().transform(results)
        except Exception as error:  # the backends raise whatever they like
            if self.on_error == 'raise':
                raise BadSampleError(f'cannot read image: {path}') from error
            self.skipped += 1
            if self.skipped <= _LOGGED:
                message = f'skipped an image that cannot be read: {path} ({self.skipped} so far)'
                print_log(message, logger='current', level=30)
            return None
