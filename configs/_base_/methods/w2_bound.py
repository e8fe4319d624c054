method = dict(
    objective=dict(type='W2BoundObjective'),
    covariance=dict(type='FactorCovariance'),
)
