#!/usr/bin/env python3
"""The synthetic census of `fairlane demo`: rule, domain, sample and exact counts.

Nobody in this census exists. Every row is drawn from the small tables below; no real data was
used, copied or fitted. The rule that decides is written here, so who is discriminated against is
known exactly, and the counts are taken over the whole domain (216,000 inputs). Needs the standard
library only.

  python3 generate.py           writes census.csv, census.domain.yaml and planted.json here
  python3 generate.py --check   writes nothing; fails unless those files are what it would write

apps/demo_census.cpp holds the same rule and the same generator in C++; a test compares the two.
"""

import argparse
import itertools
import json
import pathlib
import sys

ROWS = 5000
SEED = 42

# Attributes in the network's input order: name, code of the first category, protected, categories.
ATTRIBUTES = [
    ("age", 1, True, ["18-29", "30-44", "45-59", "60+"]),
    ("education", 1, False, ["no-school", "basic", "secondary", "bachelor", "master"]),
    ("occupation", 0, False,
     ["manual", "service", "clerical", "technical", "professional", "managerial"]),
    ("marital", 0, False, ["single", "married", "widowed-or-divorced"]),
    ("region", 0, False, ["North", "East", "South", "West"]),
    ("race", 0, True, ["group-A", "group-B", "group-C", "group-D", "group-E"]),
    ("gender", 0, True, ["female", "male"]),
    ("hours", 1, False, ["part-time", "full-time", "overtime"]),
    ("experience", 1, False,
     ["under-1-year", "1-4-years", "5-9-years", "10-19-years", "20-years-and-over"]),
]
NAMES = [name for name, _, _, _ in ATTRIBUTES]
LABEL = "approved"
AGE, EDUCATION, OCCUPATION, MARITAL, REGION, RACE, GENDER, HOURS, EXPERIENCE = range(9)
PROTECTED = [index for index, (_, _, is_protected, _) in enumerate(ATTRIBUTES) if is_protected]

# ---------------------------------------------------------------------------------------- the rule

POINTS_NEEDED = 16  # what everybody should need
EXTRA_POINTS = 2  # what is asked of the women of the planted gender rule on top
AGE_60, BACHELOR, TECHNICAL, NORTH, FEMALE, PART_TIME = 4, 4, 3, 0, 0, 1

SENTENCES = {
    "fair": "An applicant is approved with 16 points or more: 2 per education level, 1 per "
    "occupation level, 2 per level of working hours and 1 per level of experience.",
    "age": "Applicants aged 60 or over in the North are refused when they work part time, "
    "whatever their points; younger applicants like them are not.",
    "race": "Nothing is planted for race: no decision depends on it.",
    "gender": "Women with a degree in technical, professional or managerial work need 18 points; "
    "men like them need 16.",
}


def points(row):
    """The fair score of one input (a sequence of nine codes), 5..26."""
    return 2 * row[EDUCATION] + row[OCCUPATION] + 2 * row[HOURS] + row[EXPERIENCE]


def label(row):
    """1 when the applicant is approved: the fair rule with the two planted exceptions."""
    if row[AGE] == AGE_60 and row[REGION] == NORTH and row[HOURS] == PART_TIME:
        return 0  # planted: age
    needed = POINTS_NEEDED
    if row[GENDER] == FEMALE and row[EDUCATION] >= BACHELOR and row[OCCUPATION] >= TECHNICAL:
        needed += EXTRA_POINTS  # planted: gender
    return int(points(row) >= needed)


# -------------------------------------------------------------------------------------- the sample

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
DRAWS_PER_ROW = 16

# Weights out of 100. People of the sample are plausible (no 20 years of experience at 25), while
# the domain is the full product. Race goes with region, and region with education, so approval
# rates differ between the race groups although no decision depends on race.
AGE_WEIGHTS = [28, 31, 25, 16]
RACE_WEIGHTS = [36, 24, 18, 13, 9]
GENDER_WEIGHTS = [50, 50]
REGION_BY_RACE = [
    [20, 25, 25, 30],
    [30, 30, 20, 20],
    [35, 15, 35, 15],
    [15, 40, 15, 30],
    [25, 20, 40, 15],
]
EDUCATION_BY_REGION = [
    [8, 24, 36, 22, 10],
    [5, 17, 34, 28, 16],
    [10, 28, 36, 18, 8],
    [4, 14, 32, 31, 19],
]
OCCUPATION_BY_EDUCATION = [
    [50, 32, 12, 4, 1, 1],
    [38, 32, 18, 8, 2, 2],
    [20, 26, 26, 18, 5, 5],
    [5, 11, 22, 24, 24, 14],
    [2, 5, 12, 23, 36, 22],
]
MARITAL_BY_AGE = [[72, 25, 3], [34, 54, 12], [18, 60, 22], [10, 55, 35]]
HOURS_BY_AGE = [[30, 57, 13], [18, 58, 24], [18, 60, 22], [42, 48, 10]]
EXPERIENCE_BY_AGE = [
    [34, 46, 20, 0, 0],
    [8, 22, 36, 34, 0],
    [4, 10, 18, 34, 34],
    [3, 7, 14, 26, 50],
]


def mix(value):
    """The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


def draw(seed, row, column, weights):
    """Index drawn by weight; depends on (seed, row, column) only, never on an earlier draw."""
    word = mix((mix(seed) + (row * DRAWS_PER_ROW + column + 1) * GOLDEN) & MASK)
    ticket = ((word >> 32) * sum(weights)) >> 32
    for index, weight in enumerate(weights):
        if ticket < weight:
            return index
        ticket -= weight
    raise AssertionError("the weights do not add up")


def sample_row(seed, row):
    """Codes of one synthetic person."""
    age = draw(seed, row, AGE, AGE_WEIGHTS)
    race = draw(seed, row, RACE, RACE_WEIGHTS)
    gender = draw(seed, row, GENDER, GENDER_WEIGHTS)
    region = draw(seed, row, REGION, REGION_BY_RACE[race])
    education = draw(seed, row, EDUCATION, EDUCATION_BY_REGION[region])
    occupation = draw(seed, row, OCCUPATION, OCCUPATION_BY_EDUCATION[education])
    marital = draw(seed, row, MARITAL, MARITAL_BY_AGE[age])
    hours = draw(seed, row, HOURS, HOURS_BY_AGE[age])
    experience = draw(seed, row, EXPERIENCE, EXPERIENCE_BY_AGE[age])
    indices = [age, education, occupation, marital, region, race, gender, hours, experience]
    return [low + index for (_, low, _, _), index in zip(ATTRIBUTES, indices)]


def census_csv(rows, seed):
    """Text of the table: header, codes, label last."""
    lines = [",".join(NAMES + [LABEL])]
    for row in range(rows):
        codes = sample_row(seed, row)
        lines.append(",".join(str(code) for code in codes + [label(codes)]))
    return "\n".join(lines) + "\n"


def domain_yaml():
    """Text of the domain file."""
    lines = ["name: synthetic-census", f"label: {LABEL}", "attributes:"]
    for name, low, is_protected, categories in ATTRIBUTES:
        mark = ", protected: true" if is_protected else ""
        listed = ", ".join(f'"{category}"' for category in categories)
        bounds = f"low: {low}, high: {low + len(categories) - 1}{mark}"
        lines.append(f"  - {{name: {name}, {bounds}, categories: [{listed}]}}")
    return "\n".join(lines) + "\n"


# -------------------------------------------------------------------------------------- the counts


def every_input():
    """All inputs of the domain, in product order."""
    return itertools.product(*(range(low, low + len(names)) for _, low, _, names in ATTRIBUTES))


def discriminatory_groups(labels, selected):
    """Number of profiles (inputs without the selected columns), those with both labels, columns."""
    kept = [index for index in range(len(ATTRIBUTES)) if index not in selected]
    seen = {}
    for row, row_label in labels.items():
        key = tuple(row[index] for index in kept)
        seen[key] = seen.get(key, 0) | (1 << row_label)
    return len(seen), {key for key, bits in seen.items() if bits == 3}, kept


def planted(csv_text):
    """What is planted for every combination of protected attributes, by brute force."""
    labels = {row: label(row) for row in every_input()}
    sample = [tuple(int(cell) for cell in line.split(",")) for line in csv_text.splitlines()[1:]]
    rates = {}
    for code, name in enumerate(ATTRIBUTES[RACE][3]):
        of_group = [row[-1] for row in sample if row[RACE] == code]
        rates[name] = round(100 * sum(of_group) / len(of_group), 1)
    selections = []
    for size in range(1, len(PROTECTED) + 1):
        for selected in itertools.combinations(PROTECTED, size):
            groups, hit, kept = discriminatory_groups(labels, selected)
            rows_hit = sum(tuple(row[index] for index in kept) in hit for row in sample)
            names = [NAMES[index] for index in selected]
            selections.append({
                "protected": names,
                "sentence": " ".join(SENTENCES[name] for name in names),
                "groups": groups,
                "discriminatory_groups": len(hit),
                "discriminatory_inputs": len(hit) * (len(labels) // groups),
                "sample_rows_affected": rows_hit,
            })
    return {
        "name": "synthetic-census",
        "rule": SENTENCES["fair"],
        "inputs": len(labels),
        "inputs_approved": sum(labels.values()),
        "sample": {
            "rows": len(sample),
            "seed": SEED,
            "approved": sum(row[-1] for row in sample),
            "approved_percent_by_race": rates,
        },
        "selections": selections,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare the files, write nothing")
    check = parser.parse_args().check
    here = pathlib.Path(__file__).resolve().parent
    table = census_csv(ROWS, SEED)
    counts = planted(table)
    files = {
        "census.csv": table,
        "census.domain.yaml": domain_yaml(),
        "planted.json": json.dumps(counts, indent=2) + "\n",
    }
    differ = []
    for name, text in files.items():
        path = here / name
        if not check:
            path.write_bytes(text.encode("ascii"))
        elif not path.exists() or path.read_bytes() != text.encode("ascii"):
            differ.append(name)
    print(f"{counts['inputs']} inputs, {counts['inputs_approved']} approved; "
          f"{counts['sample']['rows']} rows, {counts['sample']['approved']} approved")
    for item in counts["selections"]:
        hit, groups = item["discriminatory_groups"], item["groups"]
        print(f"{'+'.join(item['protected']):16} {hit:6} of {groups:6} groups "
              f"({100 * hit / groups:.2f} %), {item['discriminatory_inputs']:6} inputs, "
              f"{item['sample_rows_affected']:4} sample rows")
    if differ:
        sys.exit("differs from what this program writes: " + ", ".join(differ))


if __name__ == "__main__":
    main()
