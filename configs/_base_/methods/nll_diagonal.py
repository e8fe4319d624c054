method = dict(
    objective=dict(type='DiagonalNLLObjective'),
    covariance=dict(type='DiagonalCovariance'),
)
