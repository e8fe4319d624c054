"""Every config is whole: what it names exists, builds, and is read by something."""

import ast
import inspect
from pathlib import Path

import pytest
from mmengine.dataset import Compose
from mmengine.runner import Runner
from mmpose.registry import HOOKS, METRICS, MODELS, VISUALIZERS

from hetpose.engine import launch

ROOT = Path(__file__).resolve().parent.parent
CONFIGS = sorted(path for path in (ROOT / 'configs').rglob('*.py') if '_base_' not in path.parts)
RUNNER_KEYS = set(inspect.signature(Runner.__init__).parameters) | {
    'custom_imports',  # read when the file is
    'runner_type',  # read by hetpose.engine.launch
    'data_mode',  # read by mmpose's inferencers
    'dataset_type',
    'find_unused_parameters',  # read by the Runner when it wraps the model
}
LEAF_LINES = 30

every_config = pytest.mark.parametrize(
    'path', CONFIGS, ids=lambda path: str(path.relative_to(ROOT / 'configs'))
)


def pipelines(node: object) -> list[list[dict]]:
    """Every data pipeline below a config node."""
    if isinstance(node, dict):
        own = [node['pipeline']] if isinstance(node.get('pipeline'), list) else []
        return own + [found for value in node.values() for found in pipelines(value)]
    if isinstance(node, list | tuple):
        return [found for value in node for found in pipelines(value)]
    return []


def test_there_are_configs() -> None:
    families = {path.relative_to(ROOT / 'configs').parts[0] for path in CONFIGS}
    assert {'bivariate', 'univariate', 'multivariate', 'uci', 'pose'} <= families


@every_config
def test_it_builds(path: Path) -> None:
    config = launch.load_config(path)  # an unknown key is an error here
    MODELS.build(config.model)
    for pipeline in pipelines({k: v for k, v in config.items() if k.endswith('dataloader')}):
        Compose(pipeline)
    if 'visualizer' in config:  # before the hooks, one of which asks for it
        VISUALIZERS.build({**config.visualizer, 'name': str(path)})
    for hook in [*config.get('default_hooks', {}).values(), *config.get('custom_hooks', [])]:
        HOOKS.build({k: v for k, v in hook.items() if k != 'priority'})
    for name in ('val_evaluator', 'test_evaluator'):
        evaluators = config.get(name) or []
        for evaluator in evaluators if isinstance(evaluators, list) else [evaluators]:
            METRICS.build(evaluator)


def names_read() -> set[str]:
    """Names that a config reads from itself or its base, and keys that SuiteRunner reads."""
    found = set()
    for source in [*(ROOT / 'configs').rglob('*.py'), ROOT / 'hetpose' / 'engine' / 'suite.py']:
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found.add(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                found |= {node.attr} if node.value.id in ('_base_', 'config') else set()
            elif isinstance(node, ast.Subscript | ast.Call):  # config['key'], config.get('key')
                keys = [node.slice] if isinstance(node, ast.Subscript) else node.args[:1]
                found |= {k.value for k in keys if isinstance(k, ast.Constant)}
    return found


READ = names_read()


@every_config
def test_every_top_level_name_is_read(path: Path) -> None:
    """A name is an argument of the Runner, or a config or the Runner of the suites reads it."""
    unread = set(launch.load_config(path)) - set(RUNNER_KEYS) - READ
    assert not unread


def test_a_name_that_nothing_reads_is_seen() -> None:
    assert 'no_such_key' not in READ
    assert {'data_mode', 'protocol', 'warmup'} <= READ


@every_config
def test_a_leaf_is_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= LEAF_LINES
