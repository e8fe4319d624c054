"""The label noise of SyntheticPose: a full covariance that follows from what the image shows.

With h the figure's height, q_j the occlusion and b_j the local blur of joint j (both in [0, 1])
and g the defocus of the image, the error of a label is a sum of independent causes:

- its own, isotropic:        h (0.010 + 0.020 q_j + 0.025 b_j)
- its own, along its limb:   h (0.006 + 0.055 q_j)
- of a limb, which slides along itself and takes its parent (times 0.7) and child joint with it:
  h (0.006 + 0.035 max(q_parent, q_child))
- of the whole figure, a shift: h (0.004 + 0.025 g)

Each cause is a column of a factor C, Σ = C Cᵀ.
"""

from __future__ import annotations

import numpy as np

from hetpose.datasets.pose.figure import L_HIP, LIMBS, NECK, R_HIP, K, Scene, soft_disc

OWN = (0.010, 0.020, 0.025)  # base, per occlusion, per blur
ALONG = (0.006, 0.055)  # base, per occlusion
LIMB = (0.006, 0.035)  # base, per occlusion
SHIFT = (0.004, 0.025)  # base, per defocus
PARENT_SHARE = 0.7


def occlusion(scene: Scene) -> np.ndarray:
    """The depth of each joint under an occluder, times its opacity: (K,) in [0, 1]."""
    cover = np.zeros(K)
    for occluder in scene.occluders:
        own = (scene.joints - occluder.centre) @ occluder.basis.T / occluder.axes
        cover = np.maximum(cover, occluder.opacity * soft_disc(own, np.zeros(2), 1.2))
    return cover


def local_blur(scene: Scene) -> np.ndarray:
    """The strength of the local blur at each joint: (K,) in [0, 1]."""
    blur = np.zeros(K)
    for centre, radius, strength in scene.blurs:
        blur = np.maximum(blur, strength * soft_disc(scene.joints, centre, radius))
    return blur


def limb_directions(joints: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors of the limbs (len(LIMBS), 2), and per joint that of the limb it ends (K, 2)."""
    parents, children = np.array(LIMBS).T
    limbs = joints[children] - joints[parents]
    limbs /= np.maximum(np.linalg.norm(limbs, axis=1, keepdims=True), 1e-9)
    own = np.zeros((K, 2))
    own[children] = limbs
    spine = joints[[R_HIP, L_HIP]].mean(0) - joints[NECK]  # the neck ends no limb
    own[NECK] = spine / max(float(np.hypot(*spine)), 1e-9)
    return limbs, own


def noise_causes(scene: Scene, strength: float = 1.0) -> np.ndarray:
    """The factor C (2K, 3K + len(LIMBS) + 2) of the label noise, in pixels."""
    q, b = occlusion(scene), local_blur(scene)
    limbs, own = limb_directions(scene.joints)
    rows = np.arange(K)
    isotropic = np.zeros((K, 2, K, 2))
    isotropic[rows, :, rows, :] = (OWN[0] + OWN[1] * q + OWN[2] * b)[:, None, None] * np.eye(2)
    along = np.zeros((K, 2, K))
    along[rows, :, rows] = (ALONG[0] + ALONG[1] * q)[:, None] * own
    sliding = np.zeros((K, 2, len(LIMBS)))
    for column, (parent, child) in enumerate(LIMBS):
        vector = (LIMB[0] + LIMB[1] * max(q[parent], q[child])) * limbs[column]
        sliding[parent, :, column] = PARENT_SHARE * vector
        sliding[child, :, column] = vector
    shift = np.broadcast_to((SHIFT[0] + SHIFT[1] * scene.defocus) * np.eye(2), (K, 2, 2))
    blocks = (isotropic, along, sliding, shift)
    causes = np.concatenate([block.reshape(2 * K, -1) for block in blocks], axis=1)
    return strength * scene.height * causes


def covariance_factor(causes: np.ndarray) -> np.ndarray:
    """The square factor (2K, 2K) of C Cᵀ, lower triangular."""
    return np.linalg.cholesky(causes @ causes.T)
