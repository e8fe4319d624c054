_base_ = ['../hybrid.py']
# The Taylor-induced covariance without the Hessian's term.
method = dict(
    phases=[
        dict(
            at=0.5,
            objective=dict(type='NLLObjective'),
            covariance=dict(type='TaylorInducedCovariance', order='gradient'),
        )
    ],
)
