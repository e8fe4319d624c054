method = dict(
    objective=dict(type='W2Objective'),
    covariance=dict(type='FactorCovariance'),
)
