"""From its epoch on the mean stays, and the covariance learns."""

import torch
from helpers_suite import unit_config
from mmengine.hooks import Hook

from hetpose.engine.launch import build_runner


class Watch(Hook):
    """The weights of both networks after every epoch."""

    def __init__(self) -> None:
        self.seen: list[dict[str, torch.Tensor]] = []

    def after_train_epoch(self, runner) -> None:
        state = runner.model.state_dict()
        self.seen.append({k: v.clone() for k, v in state.items() if isinstance(v, torch.Tensor)})


def moved(before: dict, after: dict, network: str) -> bool:
    names = [name for name in before if name.startswith(f'{network}.')]
    assert names, f'no weights of {network}'
    return any(not torch.equal(before[name], after[name]) for name in names)


def test_the_mean_stays_and_the_covariance_moves(tmp_path) -> None:
    runner = build_runner(unit_config(tmp_path, 'anchored', epochs=2))  # 2 of each
    watch = Watch()
    runner.register_hook(watch)
    runner.train()
    first, second, third, fourth = watch.seen
    assert moved(first, second, 'mean_network')
    assert not moved(third, fourth, 'mean_network')
    assert moved(third, fourth, 'covariance_network')
