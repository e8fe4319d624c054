"""The inputs of an inferencer: images in all forms, a video file, or a camera."""

from __future__ import annotations

import glob
import mimetypes
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from hetpose.errors import UserError
from hetpose.fileio import is_temporary

IMAGE_SUFFIXES = {'.jpg', '.jpeg', '.png', '.bmp', '.webp', '.tif', '.tiff', '.ppm', '.pgm'}


@dataclass(frozen=True)
class Picture:
    """One image: its place among the inputs, its name, where outputs go, BGR uint8 (H, W, 3).

    A frame also has its time, in seconds from the first.
    """

    index: int
    name: str
    output: Path
    image: np.ndarray
    time: float | None = None


@dataclass(frozen=True)
class BadInput:
    """An input that cannot be predicted, and why."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f'{self.name}: {self.reason}'


class Images:
    """Images in order. Outputs are named after the files, made unique where names repeat."""

    def __init__(self, items: Sequence[str | Path | np.ndarray]) -> None:
        self.items = list(items)
        self.outputs = _output_names(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Picture | BadInput]:
        for index, (item, output) in enumerate(zip(self.items, self.outputs, strict=True)):
            name = str(output) if isinstance(item, np.ndarray) else str(item)
            try:
                image = as_bgr(item) if isinstance(item, np.ndarray) else read_image(item)
            except ValueError as error:
                yield BadInput(name, str(error))
            else:
                yield Picture(index, name, output, image)


class Video:
    """The frames of a video file."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        capture = cv2.VideoCapture(str(path))
        if not capture.isOpened():
            raise UserError(f'{path}: cannot be opened as a video')
        self.fps = capture.get(cv2.CAP_PROP_FPS) or 25.0
        self.count = int(capture.get(cv2.CAP_PROP_FRAME_COUNT))
        capture.release()

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Picture | BadInput]:
        """Every frame that can be read; a BadInput at the end if the file promises more."""
        capture, index = cv2.VideoCapture(str(self.path)), 0
        try:
            while True:
                read, image = capture.read()
                if not read:
                    break
                name, output = f'{self.path} frame {index}', Path(self.path.stem)
                yield Picture(index, name, output, image, index / self.fps)
                index += 1
        finally:
            capture.release()
        if index < self.count:
            yield BadInput(str(self.path), f'ended after {index} of {self.count} frames')


class Webcam:
    """The frames of a camera, until it is unplugged or nobody asks for more."""

    def __init__(self, number: int) -> None:
        self.number, self.path = number, Path(f'webcam{number}')
        capture = self._open()
        self.fps = capture.get(cv2.CAP_PROP_FPS) or 25.0
        capture.release()

    def _open(self) -> cv2.VideoCapture:
        # OpenCV moved it in 4.12.
        set_level = getattr(cv2, 'setLogLevel', None) or cv2.utils.logging.setLogLevel
        level = set_level(0)  # silent: one line is enough
        try:
            capture = cv2.VideoCapture(self.number)
        finally:
            set_level(level)
        if not capture.isOpened():
            raise UserError(
                f'no camera {self.number} was found; webcam:N takes camera N (cameras are counted '
                'from 0), or give the path of a video'
            )
        return capture

    def __iter__(self) -> Iterator[Picture | BadInput]:
        """Every frame, at the time when it was read."""
        capture, index, start = self._open(), 0, time.monotonic()
        try:
            while True:
                read, image = capture.read()
                if not read:
                    break
                name, now = f'camera {self.number} frame {index}', time.monotonic() - start
                yield Picture(index, name, self.path, image, now)
                index += 1
        finally:
            capture.release()
        yield BadInput(f'camera {self.number}', f'gave no more images after {index}')


Source = Images | Video | Webcam
_WEBCAM = re.compile(r'webcam(?::(\d+))?')


def open_inputs(inputs: Any) -> Source:
    """Find out what ``inputs`` is; a UserError if there is nothing to read."""
    if isinstance(inputs, np.ndarray):
        return Images([inputs])
    if isinstance(inputs, list | tuple):
        if not inputs:
            raise UserError('no inputs: the list is empty')
        return Images(inputs)
    if not isinstance(inputs, str | Path):
        raise UserError(f'inputs must be a path, a glob, an array or a list, got {type(inputs)}')
    path = Path(inputs)
    if path.is_dir():
        images = [p for p in sorted(path.iterdir()) if p.suffix.lower() in IMAGE_SUFFIXES]
        found = [p for p in images if not is_temporary(p)]
        if not found:
            raise UserError(f'no images in folder {path} (known: {", ".join(_suffixes())})')
        return Images(found)
    if not path.exists():
        return _camera_or_glob(str(inputs))
    if (mimetypes.guess_type(path.name)[0] or '').startswith('video/'):
        return Video(path)
    return Images([path])


def _camera_or_glob(inputs: str) -> Images | Webcam:
    camera = _WEBCAM.fullmatch(inputs)
    if camera:
        return Webcam(int(camera[1] or 0))
    # Path.glob refuses absolute patterns.
    matches = [Path(match) for match in glob.glob(inputs, recursive=True)]  # noqa: PTH207
    found = sorted(match for match in matches if match.is_file())
    if not found:
        raise UserError(f'input not found: {inputs}')
    return Images(found)


def _suffixes() -> list[str]:
    return sorted(suffix.removeprefix('.') for suffix in IMAGE_SUFFIXES)


def read_image(path: str | Path) -> np.ndarray:
    """Decode a file, turned by its EXIF data; a ValueError gives the reason why not."""
    try:
        if Path(path).exists() and not Path(path).is_file():  # reading a pipe waits for ever
            raise ValueError('is not a file')
        content = np.frombuffer(Path(path).read_bytes(), np.uint8)
    except OSError as error:
        raise ValueError(f'cannot be read ({error.strerror})') from error
    image = cv2.imdecode(content, cv2.IMREAD_COLOR) if content.size else None
    if image is None:
        raise ValueError('is not an image' if content.size else 'is empty')
    return image


def as_bgr(array: np.ndarray) -> np.ndarray:
    """An array as mmpose takes it: uint8, (H, W, 3) in BGR order, or (H, W) grey."""
    if array.dtype != np.uint8:
        raise ValueError(f'is an array of {array.dtype}; an image has uint8 from 0 to 255')
    if array.ndim == 2 or array.shape[2:] == (1,):
        array = np.repeat(array.reshape(*array.shape[:2], 1), 3, axis=2)
    if array.ndim != 3 or array.shape[2] != 3 or not array.size:
        raise ValueError(f'has shape {array.shape}; an image has (H, W, 3), channels in BGR order')
    return np.ascontiguousarray(array)


def _output_names(items: Sequence[str | Path | np.ndarray]) -> list[Path]:
    """The output file of each item, with its suffix: its file name, or more where that repeats.

    Files whose stems repeat would overwrite each other's predictions. They keep their folders
    below the one that they share, x.jpg next to x.png becomes x.jpg.jpg and x.png.png, and a file
    that is given again becomes x-2.jpg.
    """
    paths = [
        Path(f'{index:06d}.png') if isinstance(item, np.ndarray) else Path(item)
        for index, item in enumerate(items)
    ]
    stems = Counter(path.stem for path in paths)
    if max(stems.values(), default=0) == 1:
        return [Path(path.name) for path in paths]
    absolute = [path.absolute() for path in paths]
    shared = _shared_folder(absolute)
    below = [path.relative_to(shared) for path in absolute]
    repeated = Counter(path.with_suffix('') for path in set(below))
    named = [
        path.with_name(path.name + path.suffix) if repeated[path.with_suffix('')] > 1 else path
        for path in below
    ]
    return _numbered(named)


def _numbered(paths: Sequence[Path]) -> list[Path]:
    """The paths, with -2, -3, ... behind the stem of one that was there before."""
    taken = {path.with_suffix('') for path in paths}
    seen: set[Path] = set()
    found = []
    for path in paths:
        count = 2
        if path in seen:
            while path.with_name(f'{path.stem}-{count}') in taken:
                count += 1
            path = path.with_name(f'{path.stem}-{count}{path.suffix}')
            taken.add(path.with_suffix(''))
        seen.add(path)
        found.append(path)
    return found


def _shared_folder(paths: Sequence[Path]) -> Path:
    shared = paths[0].parent
    while not all(path.is_relative_to(shared) for path in paths):
        shared = shared.parent
    return shared
