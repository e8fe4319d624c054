"""Predict poses with their covariances on an image, a folder, a glob, a video or a camera.

Pictures and predictions go to the folder outputs, or to those of --vis-out-dir and --pred-out-dir.

examples:
  hetpose infer photo.jpg
  hetpose infer photo.jpg --config CONFIG --checkpoint FILE.pth --vis-out-dir out
  hetpose infer 'photos/*.jpg' --config CONFIG --checkpoint FILE.pth --bboxes boxes.json \\
      --pred-out-dir out --full-covariance npz --batch-size 16
  hetpose infer photo.jpg --config CONFIG --checkpoint FILE.pth --vis-out-dir out \\
      --given "left_wrist=120,80; neck=100,30"
  hetpose infer film.mp4 --config CONFIG --checkpoint FILE.pth --vis-out-dir out --smooth
  hetpose infer webcam --config CONFIG --checkpoint FILE.pth --show --smooth

One JSON file for every image: a list of people with keypoints, keypoint_scores, bbox and
bbox_score as mmpose writes them, and covariance, a 2×2 matrix for every joint. A video has one
file: a list of {frame_id, instances}. Positions are pixels (x, y) of the original image,
covariances pixels²; the full covariance has the order x1, y1, x2, y2, ... with the joints in the
order of the model's data set. hetpose/apis/inference/predictions.schema.json describes it all.

Inputs that cannot be predicted are named, one line each, and the exit code is then 1; what was
written for the others stays.
"""

import argparse
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

from tqdm import tqdm

from hetpose import apis
from hetpose.errors import UserError

OUTPUTS = 'outputs'  # for those who name no folder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'input', help='image, folder of images, glob (in quotes), video, webcam or webcam:N'
    )
    parser.add_argument(
        '--config',
        default='human',
        help='config of the model, or a model by name (default: human, which comes with hetpose)',
    )
    parser.add_argument('--checkpoint', help='its weights; a model by name has its own')
    parser.add_argument('--vis-out-dir', default='', metavar='DIR', help='write pictures here')
    parser.add_argument('--pred-out-dir', default='', metavar='DIR', help='write JSON here')
    _add_boxes(parser)
    parser.add_argument(
        '--smooth',
        action='store_true',
        help='follow the people of a video and smooth their joints by a Kalman filter whose '
        "measurement noise is each frame's covariance; backward too, but for a camera",
    )
    parser.add_argument(
        '--show-progress',
        action='store_true',
        help='show progress also where it is not a terminal',
    )
    parser.add_argument('--batch-size', type=int, default=1, help='crops at once (default: 1)')
    parser.add_argument('--device', help='cpu, cuda or cuda:N (default: a GPU if there is one)')
    parser.add_argument(
        '--full-covariance',
        choices=['json', 'npz'],
        help='also write the covariance between all joints, into the JSON or an NPZ next to it',
    )
    parser.add_argument(
        '--given',
        metavar='"JOINT=X,Y;…"',
        help='known joints, in pixels: the others are conditioned on them (one image, one person)',
    )
    parser.add_argument(
        '--robust',
        action='store_true',
        help='given joints move another one only where its present place has become improbable',
    )
    parser.add_argument('--calibration', metavar='FILE', help='what hetpose calibrate wrote')
    _add_drawing(parser)


def _add_boxes(parser: argparse.ArgumentParser) -> None:
    boxes = parser.add_argument_group(
        'where people are (default: found by person for a model by name, else the whole image)'
    )
    boxes.add_argument(
        '--bboxes',
        metavar='FILE',
        help='JSON: a list of boxes [x1, y1, x2, y2] for every image; or a list of such lists, '
        'one for each image or frame in order; or {"file name": boxes}',
    )
    boxes.add_argument(
        '--det-model',
        help='person: the detector that comes with hetpose; whole_image; or a detector of mmdet '
        'that you have: config or name',
    )
    boxes.add_argument('--det-weights', help="the detector's checkpoint")
    boxes.add_argument('--det-cat-ids', type=int, nargs='+', default=[0], help='default: 0')
    boxes.add_argument('--bbox-thr', type=float, help='default: 0.12 for person, 0.3 for mmdet')
    boxes.add_argument('--nms-thr', type=float, default=0.3, help='default: 0.3')
    boxes.add_argument(
        '--num-instances',
        type=int,
        default=-1,
        metavar='N',
        help='at most N people in an image, those with the best boxes (default: all)',
    )


def _add_drawing(parser: argparse.ArgumentParser) -> None:
    drawing = parser.add_argument_group('pictures')
    drawing.add_argument(
        '--coverage',
        type=float,
        default=0.9,
        help='probability that an ellipse holds its joint (default: 0.9)',
    )
    drawing.add_argument('--kpt-thr', type=float, default=0.0, help='hide joints that score less')
    drawing.add_argument('--draw-bbox', action='store_true', help='draw the boxes')
    drawing.add_argument(
        '--panels',
        nargs='+',
        default=[],
        choices=['correlation', 'heatmaps'],
        help='draw these to the right of the image',
    )
    drawing.add_argument('--thickness', type=int, help="of lines (default: by the image's size)")
    drawing.add_argument('--radius', type=int, help="of joints (default: by the image's size)")
    drawing.add_argument('--black-background', action='store_true', help='leave the image out')
    drawing.add_argument('--show-kpt-idx', action='store_true', help="write the joints' numbers")
    drawing.add_argument('--show', action='store_true', help='open a window')


def run(args: argparse.Namespace) -> int:
    if not (args.vis_out_dir or args.pred_out_dir or args.show):
        args.vis_out_dir = args.pred_out_dir = OUTPUTS
    if args.checkpoint is None and Path(args.config).suffix:
        raise UserError(f'--checkpoint is missing: config {args.config} has no weights of its own')
    inferencer = apis.HetPoseInferencer(
        args.config,
        args.checkpoint,
        args.device,
        det_model=args.det_model,
        det_weights=args.det_weights,
        det_cat_ids=args.det_cat_ids,
        bbox_thr=args.bbox_thr,
        nms_thr=args.nms_thr,
        calibration=args.calibration,
    )
    bad: list[object] = []

    def report(item: object) -> None:
        bad.append(item)
        tqdm.write(f'error: {item}', file=sys.stderr)

    images, people = _count(args, _predict(inferencer, args, report))
    print(f'{people} people in {images} images; {len(bad)} inputs could not be predicted')
    for what, folder in (('pictures', args.vis_out_dir), ('predictions', args.pred_out_dir)):
        if folder and images:
            print(f'{what}: {folder}')
    return 1 if bad else 0


def _predict(
    inferencer: Any, args: argparse.Namespace, report: Callable[[object], None]
) -> Generator[dict[str, Any], None, None]:
    return inferencer(
        args.input,
        bboxes=apis.read_boxes(args.bboxes) if args.bboxes else None,
        batch_size=args.batch_size,
        show=args.show,
        draw_bbox=args.draw_bbox,
        kpt_thr=args.kpt_thr,
        coverage=args.coverage,
        panels=args.panels,
        thickness=args.thickness,
        radius=args.radius,
        black_background=args.black_background,
        show_kpt_idx=args.show_kpt_idx,
        vis_out_dir=args.vis_out_dir,
        pred_out_dir=args.pred_out_dir,
        full_covariance=args.full_covariance,
        given=apis.parse_given(args.given) if args.given else None,
        robust=args.robust,
        smooth=args.smooth,
        num_instances=args.num_instances,
        show_progress=args.show_progress or sys.stderr.isatty(),
        on_bad_input=report,
    )


def _count(
    args: argparse.Namespace, results: Generator[dict[str, Any], None, None]
) -> tuple[int, int]:
    """Predict everything; the numbers of images and of people in them."""
    images = people = 0
    try:
        for result in results:
            images += 1
            people += len(result['predictions'][0])
            if not result['predictions'][0]:
                tqdm.write(f'{result["input"]}: no person found', file=sys.stderr)
    except KeyboardInterrupt:
        if not args.input.startswith('webcam'):  # which has no other end
            raise
        results.close()
    return images, people
