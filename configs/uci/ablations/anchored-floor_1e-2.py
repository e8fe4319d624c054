_base_ = ['../anchored.py']
method = dict(
    phases=[
        dict(
            at=1.0,
            objective=dict(type='AnchoredNLLObjective', prior=0.2),
            covariance=dict(type='AnchoredCovariance', floor=1e-2),
            freeze_mean=True,
        )
    ],
)
