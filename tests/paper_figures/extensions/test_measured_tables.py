"""Guards paper_figures/extensions/measured_tables.py: pages say what the committed records say."""

import pytest

from paper_figures.extensions import measured_tables


@pytest.mark.parametrize("page", [pytest.param(path, id=path.stem) for path in measured_tables.PAGES])
def test_a_page_has_the_tables_of_the_committed_records(page):
    text = page.read_text(encoding="utf-8")
    assert text == measured_tables.filled(text, measured_tables.PAGES[page]()), (
        "run: python -m paper_figures.extensions.measured_tables")


def test_a_place_without_its_table_is_an_error():
    with pytest.raises(ValueError, match="the page has places for stp"):
        measured_tables.filled("<!-- table: stp -->\n<!-- end of the table -->", {"step": "| a |"})
