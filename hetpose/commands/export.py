"""Write a model as an ONNX file, and check it against torch with onnxruntime.

examples:
  hetpose export CONFIG CHECKPOINT --out model.onnx
  hetpose export CONFIG CHECKPOINT --out model.onnx --calibration calibration/calibration.json

Input: image (batch, 3, H, W), float32 from 0 to 255, BGR as OpenCV reads it: the crop of a person,
warped to the network's input size. Outputs: keypoints (batch, K, 2) in pixels of that input and
covariance (batch, 2K, 2K) in pixels², in the order x1, y1, x2, y2, ... The batch is dynamic. Of a
model that fit-covariance wrapped, the raw outputs of its head stand in place of the keypoints.
docs/export.md shows how to cut the crop, and how the outputs become pixels of the image.

A recalibrated file has a second input, pixel_size (batch,): image pixels per input pixel. A model
by name is recalibrated as hetpose infer does it.

A Taylor-induced covariance of order 'gradient' is exported with its Jacobian written out; one of
order 'full', and a predicted precision, cannot be exported. Needs: pip install hetpose[export].
"""

import argparse

from hetpose import apis


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('config', help='config file, or a model by name: human')
    parser.add_argument('checkpoint', nargs='?', help='its checkpoint file; a named model has one')
    parser.add_argument('--out', required=True, metavar='FILE', help='the ONNX file to write')
    parser.add_argument('--calibration', metavar='FILE', help='what hetpose calibrate wrote')
    parser.add_argument('--opset', type=int, default=18, help='ONNX operator set (default: 18)')


def run(args: argparse.Namespace) -> None:
    model = apis.load_pose_model(args.config, args.checkpoint, 'cpu')
    calibration = args.calibration or apis.calibration_of(args.config)
    difference = apis.export_onnx(model, args.out, args.opset, calibration)
    print(f'{args.out}: equals torch within {difference:.1e}')
