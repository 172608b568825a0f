"""AEnt, Table 1: what the printed numbers say, and what the rerun says."""

from paper_figures.aent import methods
from paper_figures.aent import table_1_benchmarks as figure


def test_other_numbers_give_another_verdict(table):
    printed = table[table["column"] != "1 of 100,000"].copy()
    mdp = printed["origin"] == "mdp"
    oracle = printed.loc[mdp & (printed["row"] == methods.ORACLE), "value"]
    printed.loc[mdp & (printed["row"] == "AEnt, p = 1/3"), "value"] = oracle.to_numpy()
    assert figure.finding(printed).verdict == "holds"
    rerun = table.copy()
    rerun.loc[(rerun["origin"] == "mdp") & (rerun["row"] == "AEnt, p = 1/3"), "value"] = 0.1
    assert figure.finding(rerun).verdict == "core claim fails"
