import pytest
import torch
from mmpose.registry import MODELS, OPTIMIZERS

from hetpose.engine.optimizers import TwoNetworkConstructor, build_fused

CONFIG = dict(type='OptimWrapper', optimizer=dict(type='AdamW', lr=0.1, weight_decay=0.01))


def test_every_parameter_is_in_one_of_two_named_groups() -> None:
    model = MODELS.build(
        dict(
            type='HeteroscedasticRegressor',
            in_dim=1,
            out_dim=2,
            objective=dict(type='MSEObjective'),
        )
    )
    wrapper = TwoNetworkConstructor(CONFIG)(model)
    groups = {group['name']: group for group in wrapper.optimizer.param_groups}
    assert isinstance(wrapper.optimizer, torch.optim.AdamW)
    assert [p.data_ptr() for p in groups['mean']['params']] == [
        p.data_ptr() for p in model.mean_network.parameters()
    ]
    count = sum(len(group['params']) for group in groups.values())
    assert count == len(list(model.parameters()))


def test_one_kernel_takes_the_steps_of_many() -> None:
    ends = []
    for options in ({}, {'fused': False}):
        weight = torch.nn.Parameter(torch.ones(3, 3))
        config = dict(type='AdamW', lr=0.1, weight_decay=0.01, params=[weight], **options)
        optimizer = build_fused(config)
        for _ in range(5):
            optimizer.zero_grad()
            weight.pow(3).sum().backward()
            optimizer.step()
        ends.append(weight.detach())
    torch.testing.assert_close(*ends)


def test_an_older_torch_that_refuses_the_kernel_is_served_as_before(monkeypatch) -> None:
    class Older(torch.optim.AdamW):
        def __init__(self, params, fused: bool = False) -> None:
            if fused:
                raise RuntimeError('fused=True needs CUDA')
            super().__init__(params)

    monkeypatch.setitem(OPTIMIZERS.module_dict, 'AdamW', Older)
    weight = torch.nn.Parameter(torch.ones(3))
    assert isinstance(build_fused(dict(type='AdamW', params=[weight])), Older)
    assert isinstance(build_fused(dict(type='Rprop', params=[weight])), torch.optim.Rprop)


def test_it_says_what_it_does_not_take() -> None:
    with pytest.raises(ValueError, match='paramwise_cfg'):
        TwoNetworkConstructor(CONFIG, paramwise_cfg={})
