"""AEnt, Table 1: what the printed numbers say, and what the rerun says."""

import pytest

from entropy_theory.claims.aent.table_1 import PRINTED
from paper_figures.aent import methods
from paper_figures.aent import table_1_benchmarks as figure
from paper_figures.data import paper_numbers


@pytest.fixture
def table(simulated):
    return figure.data(simulated("aent_one_step"))


def test_the_numbers_are_the_ones_that_the_claim_was_checked_on():
    """Two transcriptions of the same printed table."""
    for name, block in paper_numbers.read(figure.__file__).items():
        rows = {row[0]: [round(1000 * x) for x in row[1:]] for row in block.rows}
        expected = PRINTED[name]
        assert rows == {"Base": list(expected["base"]), "GRPO": list(expected["grpo"]),
                        "EntReg": list(expected["ent_reg"]), "AEnt": list(expected["aent"])}


def test_other_numbers_give_another_verdict(table):
    printed = table[table["column"] != "1 of 100,000"].copy()
    mdp = printed["origin"] == "mdp"
    oracle = printed.loc[mdp & (printed["row"] == methods.ORACLE), "value"]
    printed.loc[mdp & (printed["row"] == "AEnt, p = 1/3"), "value"] = oracle.to_numpy()
    assert figure.finding(printed).verdict == "holds"
    rerun = table.copy()
    rerun.loc[(rerun["origin"] == "mdp") & (rerun["row"] == "AEnt, p = 1/3"), "value"] = 0.1
    assert figure.finding(rerun).verdict == "core claim fails"
