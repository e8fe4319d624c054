"""A table reads the same as Markdown and as plain text."""

from hetpose.tables import markdown_table, text_table

HEADER = ['', 'NLL', '90% covers']
ROWS = [('all', '1.230', '91%'), ('left wrist', '−0.5', '')]


def test_markdown_keeps_every_cell_as_it_is_given() -> None:
    lines = markdown_table(HEADER, ROWS).splitlines()
    cells = [[cell.strip() for cell in line.strip('|').split('|')] for line in lines]
    assert cells[0] == HEADER
    assert cells[2:] == [list(row) for row in ROWS]
    assert set(lines[1]) == set('|:-')
    assert len({len(line) for line in lines}) == 1, 'aligned'
    assert [cell.endswith(':') for cell in cells[1]] == [False, True, True]


def test_plain_text_is_aligned_and_ends_without_blanks() -> None:
    lines = text_table(HEADER, ROWS).splitlines()
    starts = [lines[k].index(cell) for k, cell in enumerate(('NLL', '1.230', '−0.5'))]
    assert len(set(starts)) == 1
    assert not any(line.endswith(' ') for line in lines)


def test_no_rows_leave_the_header() -> None:
    assert 'NLL' in markdown_table(HEADER, [])
