"""Configs of published models, wrapped."""

import copy
import json
import re

import pytest
from helpers_posthoc import write_foreign
from mmengine.config import Config, ConfigDict

from hetpose.apis.fit.foreign import (
    check_foreign,
    innermost,
    labelled_dataset,
    trained_on,
    wrapped_config,
)
from hetpose.benchmarks import wrapped
from hetpose.engine.config_file import check_config
from hetpose.engine.launch import load_config
from hetpose.errors import UserError

COVARIANCE, OBJECTIVE = dict(type='AnchoredCovariance'), dict(type='NLLObjective')


@pytest.fixture(scope='module')
def config(tmp_path_factory):
    path, _ = write_foreign(tmp_path_factory.mktemp('foreign'), 'heatmap', 4)
    return Config.fromfile(str(path))


def test_the_val_set_is_read_with_its_own_boxes(config):
    assert 'bbox_file' in config.val_dataloader.dataset
    assert 'bbox_file' not in labelled_dataset(config)
    assert 'bbox_file' in config.val_dataloader.dataset


def test_other_files_replace_those_of_the_config(config):
    folder = config.val_dataloader.dataset.data_root
    found = labelled_dataset(config, f'{folder}/labels.json', f'{folder}/images')
    assert found.ann_file == f'{folder}/labels.json'
    assert found.data_prefix == dict(img=f'{folder}/images')
    assert found.pipeline == config.val_dataloader.dataset.pipeline


def test_the_first_of_several_data_sets_gives_the_format(config):
    combined = copy.deepcopy(config)
    inner = combined.val_dataloader.dataset
    combined.val_dataloader.dataset = ConfigDict(
        type='CombinedDataset', datasets=[inner], pipeline=[], metainfo=inner.metainfo
    )
    assert innermost(combined.val_dataloader.dataset).type == 'CocoDataset'
    folder = inner.data_root
    assert labelled_dataset(combined, f'{folder}/labels.json').type == 'CocoDataset'


def test_only_the_head_of_the_model_changes(config):
    made = wrapped_config(config, COVARIANCE, OBJECTIVE, labelled_dataset(config))
    assert made.model.head.head == config.model.head
    for name in ('backbone', 'data_preprocessor', 'test_cfg', 'type'):
        assert made.model[name] == config.model[name]
    assert config.model.head.type == 'HeatmapHead'
    check_config(made._cfg_dict)


def test_training_sees_crops_that_are_not_augmented(config):
    made = wrapped_config(config, COVARIANCE, OBJECTIVE, labelled_dataset(config))
    steps = [step['type'] for step in made.train_dataloader.dataset.pipeline]
    assert steps == [step['type'] for step in config.val_dataloader.dataset.pipeline]
    assert made.train_dataloader.dataset.pipeline[-1]['pack_transformed']
    assert 'pack_transformed' not in made.val_dataloader.dataset.pipeline[-1]


def test_training_labels_are_recognised_by_their_file(config):
    labels = labelled_dataset(config)
    assert not trained_on(config, labels)
    same = copy.deepcopy(config)
    same.train_dataloader.dataset = ConfigDict(
        type='CombinedDataset', datasets=[dict(copy.deepcopy(labels))], metainfo={}
    )
    assert trained_on(same, labels)


def test_a_wrapped_head_is_not_wrapped_again(config):
    made = wrapped_config(config, COVARIANCE, OBJECTIVE, labelled_dataset(config))
    with pytest.raises(UserError, match='wrapped already'):
        check_foreign(made)


@pytest.mark.parametrize(
    'name', ['whole body, RTMPose-m', 'face, MobileNetV2', 'hand, MobileNetV2']
)
def test_files_that_name_the_body_only_are_taken_for_its_parts(name, tmp_path):
    settings = load_config(wrapped.packaged(wrapped.CONFIGS[name]))
    dataset = innermost(settings.val_dataloader.dataset)
    wrapped.write_labelled(dataset, tmp_path, 4)
    found = labelled_dataset(settings, tmp_path / dataset.ann_file, tmp_path)
    assert found.ann_file == str(tmp_path / dataset.ann_file)


def test_names_in_another_spelling_are_the_same_joints(tmp_path):
    settings = load_config(wrapped.packaged(wrapped.CONFIGS['animal, RTMPose-m']))
    dataset = innermost(settings.val_dataloader.dataset)
    wrapped.write_labelled(dataset, tmp_path, 4)
    path = tmp_path / dataset.ann_file
    content = json.loads(path.read_text())
    names = content['categories'][0]['keypoints']
    assert names[:2] == ['L_Eye', 'R_Eye']
    spelt = dict(L='left', R='right', F='front', B='back')
    full = ['_'.join(spelt.get(word, word.lower()) for word in re.split('[ _]', n)) for n in names]
    assert full[0] == 'left_eye'
    content['categories'][0]['keypoints'] = full
    path.write_text(json.dumps(content))
    assert labelled_dataset(settings, path, tmp_path).ann_file == str(path)
    content['categories'][0]['keypoints'] = [full[1], full[0], *full[2:]]
    path.write_text(json.dumps(content))
    with pytest.raises(UserError, match='other joints'):
        labelled_dataset(settings, path, tmp_path)
