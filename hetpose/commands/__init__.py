"""The commands of ``hetpose``: one module each, which parses arguments and calls ``hetpose.apis``.

A command's module has a docstring (the text of ``--help``, with examples), a function
``add_arguments(parser)`` and a function ``run(args)``, whose value is the exit code (None: 0). It
imports nothing heavy, so that ``--help`` is quick.
"""

# name -> what the list of commands shows; the module is the name with underscores
COMMANDS = {
    'train': 'train a model from a config',
    'test': 'evaluate a checkpoint on the test data of its config',
    'infer': 'predict poses with covariances on images, folders and videos',
    'add-covariance': 'give any top-down config of mmpose a covariance',
    'fit-covariance': 'give a published model a covariance, and leave it as it is',
    'distill': 'make the prediction of a Taylor-induced covariance quick',
    'fit-branch': 'train a covariance while the mean stays as it is',
    'calibrate': 'measure and correct the calibration of predicted covariances',
    'pseudo-labels': 'make a covariance for every training sample from its neighbours',
    'suite': 'run a regression suite and report it',
    'results': 'write one document of all stored units of the suites',
    'prepare-pose': 'check, download and convert the pose data sets',
    'prepare-uci': 'download and clean the UCI sets',
    'export': 'write a model as an ONNX file',
    'feature-views': 'keep the maps of a frozen backbone, to train on them',
    'convert-movenet': 'convert MoveNet from tfjs files to a checkpoint',
    'pack-model': 'put a trained model into the package',
    'trust-checkpoint': 'keep the weights of an old checkpoint that carries code',
    'browse': 'draw training samples with their covariances',
    'logs': 'draw curves from training logs',
    'benchmark': 'measure what the package claims about speed and memory',
    'demo': 'train, test and draw on generated images, in minutes',
    'doctor': 'compare what is installed with what was tested',
}
