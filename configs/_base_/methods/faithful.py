method = dict(
    objective=dict(type='FaithfulObjective'),
    covariance=dict(type='FactorCovariance'),
)
