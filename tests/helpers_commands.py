"""Every command that README, the docs and the docstrings of the commands show, as it stands."""

import ast
import re
from pathlib import Path

PAGES = ('README.md', 'CONTRIBUTING.md', 'configs/pose/README.md')
BLOCK = re.compile(r'^```(?:bash|sh|shell|console)\n(.*?)^```', re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r'(?<=\n\n)((?:    .*\n)+)')
EXAMPLES = re.compile(r'^examples:\n((?:  .*\n?)+)', re.MULTILINE)
PROGRAMS = ('python ', 'hetpose ', 'bash ', 'make ', 'torchrun ', 'source ', 'pip ')
VARIABLE = re.compile(r'^([A-Z]+)=(\S+)$')


def shown_commands(root: Path) -> dict[str, str]:
    """Command → where it stands first, without comments and with its lines joined."""
    found: dict[str, str] = {}
    for page in [*(root / name for name in PAGES), *sorted((root / 'docs').glob('*.md'))]:
        text = page.read_text(encoding='utf-8')
        for block in [*BLOCK.findall(text), *INDENTED.findall(text)]:
            for command in commands_of(block):
                found.setdefault(command, str(page.relative_to(root)))
    for module in sorted((root / 'hetpose' / 'commands').glob('*.py')):
        docstring = ast.get_docstring(ast.parse(module.read_text(encoding='utf-8'))) or ''
        for block in EXAMPLES.findall(docstring):
            for command in commands_of(block):
                found.setdefault(command, str(module.relative_to(root)))
    return found


def commands_of(block: str) -> list[str]:
    """The commands of a block of text; prose and output between them is left out.

    A comment follows a # or two spaces. A shell variable is put in where it is used; brackets
    around an option, which say that it may be left out, go.
    """
    commands, variables = [], {}
    for line in block.replace('\\\n', ' ').splitlines():
        variable = VARIABLE.match(line.strip())
        if variable:
            variables[variable[1]] = variable[2]
            continue
        words = re.sub(r'(?<=\S) {2,}(?=--|\S+=)', ' ', line.strip())  # where lines were joined
        words = re.split(r' +#| {2,}', words)[0].strip()
        for name, value in variables.items():
            words = re.sub(rf'\${name}\b', value, words)
        if words.startswith(PROGRAMS):
            commands.append(re.sub(r'\[(--\S+)\]', r'\1', words))
    return commands


def as_hetpose(root: Path, command: str) -> str:
    """``python tools/NAME.py ...`` as ``hetpose COMMAND ...``: a script is one command."""
    script = re.match(r'python (tools/\S+\.py)', command)
    if script:
        (name,) = re.findall(r"cli\.tool\('(.+)'\)", (root / script[1]).read_text())
        return f'hetpose {name}{command[script.end() :]}'
    return re.sub(r'^python -m hetpose', 'hetpose', command)
