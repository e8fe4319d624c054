method = dict(
    objective=dict(type='MSEObjective'),
    covariance=dict(type='ConstantCovariance'),
)
