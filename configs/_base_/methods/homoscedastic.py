# One covariance for all, that of the training residuals; with the floor of anchored, which starts
# from it and is compared with it.
method = dict(
    objective=dict(type='MSEObjective'),
    covariance=dict(type='ConstantCovariance', floor=1e-4),
)
