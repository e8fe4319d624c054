# The bound for half the epochs, then the likelihood of a Taylor-induced covariance.
method = dict(
    objective=dict(type='W2BoundObjective'),
    covariance=dict(type='FactorCovariance'),
    phases=[
        dict(
            at=0.5,
            objective=dict(type='NLLObjective'),
            covariance=dict(type='TaylorInducedCovariance', order='full'),
        )
    ],
)
