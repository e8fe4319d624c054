# The mean network for all the epochs, exactly as mse trains it; then the covariance network for as
# many, beside the mean that did best on validation. A step trains one network, so both phases
# together cost what the other methods cost.
method = dict(
    objective=dict(type='MSEObjective'),
    phases=[
        dict(
            at=1.0,
            objective=dict(type='NLLObjective'),
            covariance=dict(type='AnchoredCovariance'),
            freeze_mean=True,
        )
    ],
    length=2.0,
)
