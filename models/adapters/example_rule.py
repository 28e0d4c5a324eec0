"""A plain function as a model: who is approved in the census of `fairlane demo` (configs/demo/README.md).

Tested by: model: exec:python3 fairlane_adapter.py example_rule.py:approve
"""
import numpy as np


def approve(rows):
    """Codes of age, education, occupation, marital, region, race, gender, hours, experience [n][9] -> 0 or 1 [n]."""
    age, education, occupation, _, region, _, gender, hours, experience = rows.T
    points = 2 * education + occupation + 2 * hours + experience
    women_need_more = (gender == 0) & (education >= 4) & (occupation >= 3)
    too_old = (age == 4) & (region == 0) & (hours == 1)
    return ((points >= np.where(women_need_more, 18, 16)) & ~too_old).astype(np.int32)


approve.kind = "labels"
