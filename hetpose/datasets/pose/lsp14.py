"""The 14 joints of Leeds Sports Pose as mmpose metainfo; also good for ``dict(from_file=...)``."""

_RIGHT, _LEFT, _MIDDLE = [255, 128, 0], [0, 200, 80], [51, 153, 255]
_joints = [
    ('right_ankle', 'lower', 'left_ankle', _RIGHT),
    ('right_knee', 'lower', 'left_knee', _RIGHT),
    ('right_hip', 'lower', 'left_hip', _RIGHT),
    ('left_hip', 'lower', 'right_hip', _LEFT),
    ('left_knee', 'lower', 'right_knee', _LEFT),
    ('left_ankle', 'lower', 'right_ankle', _LEFT),
    ('right_wrist', 'upper', 'left_wrist', _RIGHT),
    ('right_elbow', 'upper', 'left_elbow', _RIGHT),
    ('right_shoulder', 'upper', 'left_shoulder', _RIGHT),
    ('left_shoulder', 'upper', 'right_shoulder', _LEFT),
    ('left_elbow', 'upper', 'right_elbow', _LEFT),
    ('left_wrist', 'upper', 'right_wrist', _LEFT),
    ('neck', 'upper', '', _MIDDLE),
    ('head', 'upper', '', _MIDDLE),
]
_links = [
    ('right_ankle', 'right_knee', _RIGHT),
    ('right_knee', 'right_hip', _RIGHT),
    ('left_ankle', 'left_knee', _LEFT),
    ('left_knee', 'left_hip', _LEFT),
    ('right_hip', 'left_hip', _MIDDLE),
    ('right_shoulder', 'right_hip', _RIGHT),
    ('left_shoulder', 'left_hip', _LEFT),
    ('right_wrist', 'right_elbow', _RIGHT),
    ('right_elbow', 'right_shoulder', _RIGHT),
    ('left_wrist', 'left_elbow', _LEFT),
    ('left_elbow', 'left_shoulder', _LEFT),
    ('right_shoulder', 'neck', _RIGHT),
    ('left_shoulder', 'neck', _LEFT),
    ('neck', 'head', _MIDDLE),
]

dataset_info = dict(
    dataset_name='lsp14',
    keypoint_info={
        index: dict(name=name, id=index, color=color, type=part, swap=swap)
        for index, (name, part, swap, color) in enumerate(_joints)
    },
    skeleton_info={
        index: dict(link=(start, end), id=index, color=color)
        for index, (start, end, color) in enumerate(_links)
    },
    joint_weights=[1.0] * 14,
    # COCO's OKS constants; neck and head top, which COCO lacks, take the shoulder's.
    sigmas=[
        *(0.089, 0.087, 0.107, 0.107, 0.087, 0.089),
        *(0.062, 0.072, 0.079, 0.079, 0.072, 0.062),
        *(0.079, 0.079),
    ],
)
