"""Stand-ins for a training run, in a module that worker processes can import."""

import os
import time

from hetpose.apis.suites.store import DIVERGED, Result
from hetpose.errors import UserError


def quick(units, settings, digests, folder, data_root, on_epoch):
    """Results at once, unit by unit."""
    return [quick_unit(unit, settings, digests[unit.kind], on_epoch) for unit in units]


def quick_unit(unit, settings, digest, on_epoch):
    """A result at once; nll diverges, w2 is a user's mistake, kl a bug, faithful slow."""
    import torch

    if unit.method == 'w2':
        raise UserError('no such file')
    if unit.method == 'kl':
        raise ValueError('a bug')
    if unit.method == 'faithful':
        print(os.getpid())
        time.sleep(3600)  # its test kills it
    for _ in range(settings.epochs):
        on_epoch()
    print('noise on stdout')
    os.system('echo noise of a child')
    if unit.method == 'nll':
        why = {'step': 1, 'epoch': 1, 'reason': 'the loss is nan'}
        return Result(unit, settings, digest, DIVERGED, divergence=why)
    metrics = {'mse': float(unit.trial), 'threads': float(torch.get_num_threads())}
    return Result(unit, settings, digest, metrics=metrics)
