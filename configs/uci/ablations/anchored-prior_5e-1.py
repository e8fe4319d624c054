_base_ = ['../anchored.py']
method = dict(
    phases=[
        dict(
            at=1.0,
            objective=dict(type='AnchoredNLLObjective', prior=0.5),
            covariance=dict(type='AnchoredCovariance', floor=1e-4),
            freeze_mean=True,
        )
    ],
)
