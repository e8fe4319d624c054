method = dict(
    objective=dict(type='BetaNLLObjective', beta=0.5),
    covariance=dict(type='DiagonalCovariance'),
)
