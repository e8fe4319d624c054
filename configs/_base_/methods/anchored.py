# The mean network for all the epochs, exactly as mse trains it; then the covariance network for as
# many, with the mean that did best on validation. A step trains one network, so both phases
# together cost what the other methods cost. The prior keeps the variances up, in proportion to the
# residuals' own covariance: the floor is lower than the bound needs.
method = dict(
    objective=dict(type='MSEObjective'),
    phases=[
        dict(
            at=1.0,
            objective=dict(type='AnchoredNLLObjective', prior=0.2),
            covariance=dict(type='AnchoredCovariance', floor=1e-4),
            freeze_mean=True,
        )
    ],
    length=2.0,
)
