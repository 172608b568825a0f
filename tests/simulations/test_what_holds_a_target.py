"""Guards experiment holding_a_target: the order of what holds, and that the impossible is reported."""


from simulations.experiments import holding_a_target as experiment


def test_every_controller_has_the_rule_of_its_name():
    """A bonus, a hold or a sign that a name promises and its rule does not have."""
    config = experiment.Config()
    rules = {name: experiment.rule(name, config) for name in experiment.CONTROLLERS}
    assert rules["AEPO, alpha 3"].alpha == 3
    for name, rule in rules.items():
        if name.startswith("AEPO"):
            assert rule.name == "aepo"
            continue
        assert rule.name.replace("-", " ") == name.partition(", ")[2]
        assert rule.hold in name
        assert (rule.coefficient_low < 0) == (not name.startswith("integral"))
