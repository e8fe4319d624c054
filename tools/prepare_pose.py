"""Check, download and convert the pose data sets."""

import argparse
from pathlib import Path

EPILOG = """layout, below data/ or $HETPOSE_DATA:
  lsp/    joints.mat, images/im0001.jpg ...           Leeds Sports Pose, 2,000 images
  lspet/  joints.mat, images/im00001.jpg ...          its extension, 10,000 images
  mpii/   annotations/mpii_train.json, mpii_val.json, images/*.jpg
  coco/   annotations/person_keypoints_{train,val}2017.json, train2017/, val2017/

The joints.mat files are read as they are. MPII's JSON is mmpose's; --mpii-mat makes one from
MPII's own .mat file instead. SyntheticPose needs no data.

examples:
  python tools/prepare_pose.py                        what is there and what is missing
  python tools/prepare_pose.py lsp lspet --download   fetch and unpack what is missing
  python tools/prepare_pose.py mpii --mpii-mat mpii_human_pose_v1_u12_1.mat"""


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('datasets', nargs='*', metavar='DATASET', help='default: all four')
    parser.add_argument(
        '--data-root', type=Path, help='parent folder (default: $HETPOSE_DATA, else data)'
    )
    parser.add_argument('--download', action='store_true', help='fetch what is missing')
    parser.add_argument(
        '--mpii-mat', type=Path, help="MPII's annotation file: write mpii_train.json from it"
    )
    return parser.parse_args()


def main(args: argparse.Namespace) -> int:
    from hetpose.apis.data import prepare_pose
    from hetpose.paths import data_root

    lacking = 0
    for name in prepare_pose.check_names(args.datasets):
        root = args.data_root / name if args.data_root else data_root(name)
        if name == 'mpii' and args.mpii_mat is not None:
            out = root / 'annotations' / 'mpii_train.json'
            print(f'{out}: {prepare_pose.convert_mpii(args.mpii_mat, out)} persons')
        if args.download:
            prepare_pose.download(name, root)
        print(name)
        for line in prepare_pose.report(name, root):
            print(f'  {line}')
        lacking += len(prepare_pose.missing(name, root))
    return int(args.download and lacking > 0)


if __name__ == '__main__':
    arguments = parse_args()  # before the heavy imports, so that --help is quick
    from hetpose import cli

    cli.run(lambda: main(arguments))
