"""Exercise notebooks run from the first cell to the last, in one kernel after the other."""

import pytest

from demos import NAMES
from demos.notebooks import notebook_of

SECONDS = 300  # for one cell on a busy machine


@pytest.fixture(scope="module")
def kernel():
    """One kernel for all notebooks: libraries are imported once. Each defines its own names."""
    import nbformat  # here, as it takes seconds, and each worker reads every file of tests
    from nbclient import NotebookClient

    client = NotebookClient(nbformat.v4.new_notebook(), timeout=SECONDS, kernel_name="python3")
    with client.setup_kernel():
        yield client


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_valid_has_no_outputs_and_runs(name, kernel):
    import nbformat

    book = nbformat.reads(notebook_of(name).decode(), as_version=4)
    nbformat.validate(book)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert len(code) >= 4
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    kernel.nb = book
    for index, cell in enumerate(book.cells):
        kernel.execute_cell(cell, index)
    printed = [out.text for cell in code for out in cell.outputs if out.get("name") == "stdout"]
    assert len(printed) >= 4
