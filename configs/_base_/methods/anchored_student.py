# As anchored, with the tails of a Student-t, whose degrees of freedom are one more output of the
# covariance network: an outlier costs its logarithm, so that no prior has to guard against it.
method = dict(
    objective=dict(type='MSEObjective'),
    phases=[
        dict(
            at=1.0,
            objective=dict(type='StudentNLLObjective'),
            covariance=dict(
                type='StudentCovariance', scale=dict(type='AnchoredCovariance', floor=1e-4)
            ),
            freeze_mean=True,
        )
    ],
    length=2.0,
)
