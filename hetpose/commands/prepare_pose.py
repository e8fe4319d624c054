"""Check, download and convert the pose data sets.

layout, below data/ or $HETPOSE_DATA:
  lsp/    joints.mat, images/im0001.jpg ...           Leeds Sports Pose, 2,000 images
  lspet/  joints.mat, images/im00001.jpg ...          its extension, 10,000 images
  mpii/   annotations/mpii_train.json, mpii_val.json, images/*.jpg
  coco/   annotations/person_keypoints_{train,val}2017.json, train2017/, val2017/

The joints.mat files are read as they are. MPII's JSON is mmpose's; --mpii-mat makes one from
MPII's own .mat file instead. SyntheticPose needs no data.

examples:
  hetpose prepare-pose                        what is there and what is missing
  hetpose prepare-pose lsp lspet --download   fetch and unpack what is missing
  hetpose prepare-pose mpii --mpii-mat mpii_human_pose_v1_u12_1.mat
"""

import argparse
from pathlib import Path

from hetpose import apis


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('datasets', nargs='*', metavar='DATASET', help='default: all four')
    parser.add_argument(
        '--data-root', type=Path, help='parent folder (default: $HETPOSE_DATA, else data)'
    )
    parser.add_argument('--download', action='store_true', help='fetch what is missing')
    parser.add_argument(
        '--mpii-mat', type=Path, help="MPII's annotation file: write mpii_train.json from it"
    )


def run(args: argparse.Namespace) -> int:
    reports = apis.prepare_pose_sets(args.datasets, args.data_root, args.download, args.mpii_mat)
    for name, lines in reports.items():
        print('\n  '.join([name, *lines]))
    missing = any(line.startswith('missing') for lines in reports.values() for line in lines)
    return int(args.download and missing)
