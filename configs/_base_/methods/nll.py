method = dict(
    objective=dict(type='NLLObjective'),
    covariance=dict(type='FactorCovariance'),
)
