"""A reward of test_ray: an answer is right if it has an odd number of words."""


def compute_score(data_source, solution_str, ground_truth, extra_info=None, **_):
    return float(len(solution_str.split()) % 2)
