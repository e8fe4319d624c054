method = dict(
    objective=dict(type='KLObjective', calibrated=True),
    covariance=dict(type='FactorCovariance'),
)
