"""Put a trained model into the package, in half precision, so that it is known by a name.

hetpose/zoo receives NAME.json (its config), NAME.pth (its weights) and their checksum. A
recalibration of the packed model becomes part of it as hetpose/zoo/NAME.calibration.json.

examples:
  hetpose pack-model CONFIG CHECKPOINT --name human
  hetpose calibrate human --fit-split val --split test --out calibration
"""

import argparse

from hetpose import apis
from hetpose.commands import arguments


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('config', help='pose config; its validation and test data are kept')
    parser.add_argument('checkpoint', help='its trained weights')
    parser.add_argument('--name', required=True, help='what the model is called')
    arguments.add_cfg_options(parser)


def run(args: argparse.Namespace) -> None:
    config = apis.load_config(args.config, args.cfg_options)
    written = apis.pack_model(config, args.checkpoint, args.name)
    print(f'wrote {written}, {written.stat().st_size / 1e6:.1f} MB')
