#include "models/data/domain.h"

#include <cmath>

#include "models/data/dataset.h"
#include "models/data/domain_yaml.h"
#include "tests/benchmarks.h"
#include "tests/models/expect_error.h"
#include "tests/models/temporary.h"

namespace fairlane {
namespace {

constexpr char const* kGood = R"(name: people
label: income
attributes:
  - {name: age, low: 1, high: 4, protected: true, bins: [15, 25.5, 45, 65, 120]}
  - name: work
    categories: [Private, "Self-emp, not inc", no]
  - {name: hours}
  - {name: "37", low: -3, high: 3, protected: false}
)";

Domain parse_domain(std::string const& text) { return parse_domain_yaml(text, "d.yaml"); }

// A domain with one attribute of these contents.
std::string one(std::string const& contents) { return "attributes:\n  - {" + contents + "}\n"; }

void expect_config_error(std::string const& text, std::initializer_list<std::string> parts) {
  expect_error(ExitCode::kConfig, parts, [&] { parse_domain(text); });
}

void expect_equal(Domain const& a, Domain const& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.label, b.label);
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(a.raw, b.raw);
  for (std::size_t i = 0; i < a.attributes.size(); ++i) {
    EXPECT_EQ(a.attributes[i].name, b.attributes[i].name);
    EXPECT_EQ(a.attributes[i].low, b.attributes[i].low);
    EXPECT_EQ(a.attributes[i].high, b.attributes[i].high);
    EXPECT_EQ(a.attributes[i].is_protected, b.attributes[i].is_protected);
    EXPECT_EQ(a.attributes[i].categories, b.attributes[i].categories);
    EXPECT_EQ(a.attributes[i].bins, b.attributes[i].bins);
    EXPECT_EQ(a.attributes[i].column, b.attributes[i].column);
    EXPECT_EQ(a.attributes[i].imputes, b.attributes[i].imputes);
    EXPECT_EQ(a.attributes[i].values, b.attributes[i].values);
    EXPECT_EQ(a.attributes[i].immutable, b.attributes[i].immutable);
    EXPECT_EQ(a.attributes[i].encoding.kind, b.attributes[i].encoding.kind);
    EXPECT_EQ(a.attributes[i].encoding.mean, b.attributes[i].encoding.mean);
    EXPECT_EQ(a.attributes[i].encoding.std, b.attributes[i].encoding.std);
    EXPECT_EQ(a.attributes[i].encoding.drop_first, b.attributes[i].encoding.drop_first);
    EXPECT_EQ(a.attributes[i].encoding.rows, b.attributes[i].encoding.rows);
  }
}

TEST(DomainYaml, ReadsEveryField) {
  Domain const domain = parse_domain(kGood);
  EXPECT_EQ(domain.source, "d.yaml");
  EXPECT_EQ(domain.name, "people");
  EXPECT_EQ(domain.label, "income");
  ASSERT_EQ(domain.size(), 4);
  EXPECT_EQ(domain.attributes[0].low, 1);
  EXPECT_EQ(domain.attributes[0].high, 4);
  EXPECT_TRUE(domain.attributes[0].is_protected);
  EXPECT_EQ(domain.attributes[0].bins, (std::vector<double>{15, 25.5, 45, 65, 120}));
  EXPECT_EQ(domain.attributes[1].categories,
            (std::vector<std::string>{"Private", "Self-emp, not inc", "no"}));
  EXPECT_EQ(domain.attributes[1].low, 0);
  EXPECT_EQ(domain.attributes[1].high, 2);
  EXPECT_FALSE(domain.attributes[2].low.has_value());
  EXPECT_EQ(domain.attributes[3].name, "37");
  EXPECT_EQ(domain.find("hours"), 2);
  EXPECT_EQ(domain.find("Hours"), -1);
  EXPECT_TRUE(std::isnan(domain.inputs()));
  expect_equal(domain, parse_domain(format_domain_yaml(domain)));
}

TEST(DomainYaml, ReadsLabels) {
  Domain const domain =
      parse_domain("labels: {no: 0, \"-1\": 1, '<=50K': 2}\nattributes: [{name: a}]\n");
  Domain const again = parse_domain(format_domain_yaml(domain));
  for (Domain const& one : {domain, again}) {
    ASSERT_EQ(one.labels.size(), 3U);
    EXPECT_EQ(one.labels[0].text, "no");
    EXPECT_EQ(one.labels[0].label, 0);
    EXPECT_EQ(one.labels[1].text, "-1");
    EXPECT_EQ(one.labels[2].text, "<=50K");
    EXPECT_EQ(one.labels[2].label, 2);
  }
  EXPECT_TRUE(parse_domain(kGood).labels.empty());
  std::string const rest = "\nattributes: [{name: a}]\n";
  expect_config_error("labels: [no, yes]" + rest, {"d.yaml:1:9", "a list", "{no: 0, yes: 1}"});
  expect_config_error("labels: {}" + rest, {"an empty map"});
  expect_config_error("labels: {no: -1}" + rest, {"'no' is -1", "class number"});
  expect_config_error("labels: {no: none}" + rest, {"'no'", "integer"});
}

TEST(DomainYaml, ReadsValueListsAndEncodings) {
  Domain const domain = parse_domain(R"(attributes:
  - {name: a, values: [1, 4, 7], immutable: true, encoding: one-hot, categories: [x, y, z]}
  - {name: b, low: 17, high: 90, encoding: {affine: {mean: 38.6, std: 13.25}}}
  - {name: c, low: 0, high: 2, encoding: {one-hot: {drop: first}}}
  - {name: d, low: 0, high: 1, encoding: {table: [[0, 1.5], [-1, 0.1]]}}
  - {name: e, values: [2, 9], encoding: {table: [0.5, 3]}}
  - {name: f, encoding: identity}
)");
  auto const& a = domain.attributes;
  EXPECT_EQ(a[0].values, (std::vector<std::int32_t>{1, 4, 7}));
  EXPECT_TRUE(a[0].immutable);
  EXPECT_EQ(a[0].low, 1);
  EXPECT_EQ(a[0].high, 7);
  EXPECT_EQ(a[0].code_count(), 3);
  EXPECT_EQ(a[0].index_of(7), 2);
  EXPECT_FALSE(a[0].allows(5));
  EXPECT_EQ(a[0].nearest(5), 4);
  EXPECT_EQ(a[0].nearest(6), 7);
  EXPECT_EQ(a[0].nearest(99), 7);
  EXPECT_EQ(a[0].codes_text(), "one of 1, 4, 7");
  EXPECT_EQ(encoded_width(a[0]), 3);
  EXPECT_EQ(a[1].encoding.std, 13.25);
  EXPECT_EQ(encoded_width(a[2]), 2);
  EXPECT_EQ(encoded_width(a[3]), 2);
  EXPECT_EQ(a[3].encoding.rows[1], (std::vector<float>{-1.0F, 0.1F}));
  EXPECT_EQ(encoded_width(a[4]), 1);
  EXPECT_TRUE(domain.encodes());
  expect_equal(domain, parse_domain(format_domain_yaml(domain)));
  std::vector<float> table;
  EncodingView const affine = encoding_view(a[1], table);
  ASSERT_EQ(table.size(), 74U);
  EXPECT_EQ(table[3], static_cast<float>((20.0 - 38.6) / 13.25));
  EXPECT_EQ(affine.slope, 1.0 / 13.25);
}

TEST(DomainYaml, RejectsValueListsAndEncodingsThatContradict) {
  expect_config_error(one("name: a, low: 0, values: [1]"), {"d.yaml:2:31", "values beside low"});
  expect_config_error(one("name: a, values: []"), {"an empty list"});
  expect_config_error(one("name: a, values: [1, 1]"),
                      {"d.yaml:2:27", "more than the value before"});
  expect_config_error(one("name: a, values: [1, x]"), {"values[1] is 'x'"});
  expect_config_error(one("name: a, values: 3"), {"values is '3'"});
  expect_config_error(one("name: a, values: [1, 4], categories: [x]"),
                      {"expected 2", "one of 1, 4"});
  expect_config_error(one("name: a, immutable: yes"), {"immutable is 'yes'"});
  expect_config_error(one("name: a, encoding: one_hot"),
                      {"d.yaml:2:25", "did you mean 'one-hot'?"});
  expect_config_error(one("name: a, encoding: [1]"), {"encoding is a list"});
  expect_config_error(one("name: a, encoding: {affin: {}}"), {"did you mean 'affine'?"});
  expect_config_error(one("name: a, encoding: {affine: {mean: 1}}"), {"mean: NUMBER, std: NUMBER"});
  expect_config_error(one("name: a, encoding: {affine: {mean: 1, std: 0}}"), {"more than 0"});
  expect_config_error(one("name: a, encoding: {affine: {mean: 1, std: -2}}"), {"more than 0"});
  expect_config_error(one("name: a, encoding: {affine: {mean: x, std: 1}}"), {"mean is 'x'"});
  expect_config_error(one("name: a, encoding: {affine: {mean: 1, std: 1, sd: 2}}"), {"'sd'"});
  expect_config_error(one("name: a, encoding: {one-hot: {drop: last}}"), {"drop: first"});
  expect_config_error(one("name: a, low: 3, high: 3, encoding: {one-hot: {drop: first}}"),
                      {"drops the only code, 3"});
  expect_config_error(one("name: a, low: 0, high: 9999, encoding: one-hot"), {"at most 4096"});
  expect_config_error(one("name: a, encoding: {table: [1, 2]}"), {"needs low and high, or values"});
  expect_config_error(one("name: a, low: 0, high: 2, encoding: {table: [1, 2]}"),
                      {"2 rows, expected 3", "0..2"});
  expect_config_error(one("name: a, low: 0, high: 1, encoding: {table: [[1, 2], [3]]}"),
                      {"table[1] is a list of 1", "2 numbers"});
  expect_config_error(one("name: a, low: 0, high: 1, encoding: {table: [1, [3]]}"), {"table[1]"});
  expect_config_error(one("name: a, low: 0, high: 1, encoding: {table: [[], [3]]}"), {"table[0]"});
  expect_config_error(one("name: a, low: 0, high: 1, encoding: {table: [1, 1e39]}"),
                      {"beyond float32"});
  expect_config_error(one("name: a, low: 0, high: 1, encoding: {table: [1, .nan]}"), {"finite"});
  Attribute wide;
  wide.name = "w";
  wide.low = 0;
  wide.high = kMaxTableCodes;
  wide.encoding.kind = EncodingKind::kAffine;
  std::vector<float> table;
  expect_error(ExitCode::kConfig, {"'w'", "at most 4194304"}, [&] { encoding_view(wide, table); });
  wide.high = 3;
  wide.encoding.std = 1e-300;
  expect_error(ExitCode::kConfig, {"'w'", "finite"}, [&] { encoding_view(wide, table); });
}

TEST(Domain, RowsOutsideAListOfValues) {
  Domain const domain = parse_domain(one("name: a, values: [1, 4, 7]"));
  Dataset data;
  data.source = "t.csv";
  data.attributes = 1;
  data.rows = {1, 5, 7, 9};
  expect_error(ExitCode::kData, {"2 of 4 rows", "row 1 a = 5 (expected one of 1, 4, 7)"},
               [&] { apply_out_of_domain(data, domain, OutOfDomain::kError); });
  Dataset dropped = data;
  apply_out_of_domain(dropped, domain, OutOfDomain::kDrop);
  EXPECT_EQ(dropped.rows, (std::vector<std::int32_t>{1, 7}));
  apply_out_of_domain(data, domain, OutOfDomain::kClip);
  EXPECT_EQ(data.rows, (std::vector<std::int32_t>{1, 4, 7, 7}));
}

TEST(DomainYaml, CategoriesSettleAbsentBounds) {
  EXPECT_EQ(parse_domain(one("name: a, low: 5, categories: [x, y]")).attributes[0].high, 6);
  EXPECT_EQ(parse_domain(one("name: a, high: 5, categories: [x, y]")).attributes[0].low, 4);
  EXPECT_EQ(parse_domain(one("name: a, low: 0, high: 9")).inputs(), 10.0);
  EXPECT_EQ(parse_domain("attributes: [{name: a, low: -16777216, high: 16777216}]").inputs(),
            33554433.0);
}

TEST(DomainYaml, FormatSurvivesStrangeNames) {
  Domain domain;
  domain.name = "no: \"quotes\" # and\\such";
  domain.label = "true";
  domain.attributes.push_back({"a, b]", 0, 1, true, {"\n\t", "'"}, {}});
  domain.attributes.push_back({"größe", -1, 0, false, {}, {0.1, 3, 1e30}});
  domain.attributes.push_back({"~", {}, {}, false, {}, {}});
  expect_equal(domain, parse_domain(format_domain_yaml(domain)));
}

TEST(DomainYaml, RejectsWithPlaceAndHint) {
  expect_config_error("", {"d.yaml:1:1"});
  expect_config_error("# nothing\n", {"d.yaml:1:1"});
  expect_config_error("- a\n", {"d.yaml:1:1", "a list", "expected a map"});
  expect_config_error("name: x\n", {"has no attributes"});
  expect_config_error("attributes: []\n", {"d.yaml:1:13", "empty list"});
  expect_config_error("attributes: 3\n", {"attributes is '3'"});
  expect_config_error("attribute: []\n",
                      {"d.yaml:1:1", "'attribute'", "did you mean 'attributes'?"});
  expect_config_error(one("name: a, lwo: 1"), {"d.yaml:2:15", "'lwo'", "did you mean 'low'?"});
  expect_config_error(one("name: a, low: 1, low: 2"), {"d.yaml:2:23", "'low' occurs twice"});
  expect_config_error(one("low: 1"), {"attributes[0] has no name"});
  expect_config_error("attributes:\n  - age\n", {"d.yaml:2:5", "attributes[0] is 'age'"});
  expect_config_error(one("name: [a]"), {"name is a list"});
  expect_config_error(one("name: ''"), {"expected a name"});
  expect_config_error(one("name: null"), {"name is nothing"});
  expect_config_error(one("name: a, low: 3, high: 2"), {"d.yaml:2:20", "'a'", "low 3 > high 2"});
  expect_config_error(one("name: a, low: 1.5"), {"'1.5'", "integer"});
  expect_config_error(one("name: a, low: '1'"), {"remove the quotes"});
  expect_config_error(one("name: a, low: 16777217"), {"16777217", "float32"});
  expect_config_error(one("name: a, low: 99999999999999999999"), {"'99999999999999999999'"});
  expect_config_error(one("name: a, protected: yes"), {"'yes'", "true or false"});
  expect_config_error(one("name: a, low: 0, high: 3, categories: [x, y]"),
                      {"2 names", "expected 4", "0..3"});
  expect_config_error(one("name: a, categories: [x, x]"), {"'x' twice"});
  expect_config_error(one("name: a, categories: []"), {"empty list"});
  expect_config_error(one("name: a, bins: [1, 1]"), {"bins[1] is 1"});
  expect_config_error(one("name: a, bins: [1, .inf]"), {"finite"});
  expect_config_error(one("name: a, bins: [1]"), {"two bin edges"});
  expect_config_error(one("name: a, low: 1, high: 2, bins: [1, 2, 3, 4]"),
                      {"d.yaml:2:", "bins lists 3 bins, expected 2 for the codes 1..2"});
  expect_config_error("attributes: [{name: a}, {name: a}]\n", {"d.yaml:1:25", "'a' occurs twice"});
  expect_config_error("label: a\nattributes: [{name: a}]\n", {"also the label"});
  expect_config_error("labels: {no: 0}\nattributes: [{name: label}]\n", {"also the label"});
}

TEST(DomainYaml, RejectsYamlThatHidesThings) {
  expect_config_error("attributes: &x [{name: a}]\n", {"anchors"});
  expect_config_error("name: &x y\nlabel: *x\n", {"anchors"});
  expect_config_error("name: !!str y\n", {"tag"});
  expect_config_error("name: x\n---\nname: y\n", {"second document"});
  expect_config_error("<<: {name: x}\n", {"'<<'"});
  expect_config_error("[a, b]: x\n", {"a key is a list"});
  expect_config_error("name: \"\x01\"\n", {"d.yaml:1:8", "\\x01"});
  expect_config_error(std::string("name: a\0b\n", 10), {"d.yaml:1:8", "\\x00"});
  expect_config_error("name: \xff\n", {"d.yaml:1:7", "UTF-8"});
  expect_config_error("a: [\n", {"malformed YAML"});
  expect_config_error("name: 'x\n", {"malformed YAML"});
  expect_config_error("attributes: [{name: \"x\n\n", {"malformed YAML"});
  expect_config_error("attributes: [[[[[[[[[[a]]]]]]]]]]\n", {"nested"});
  expect_config_error("a:\n - - - - - - - - - - - b\n", {"nested"});
  expect_config_error(std::string(1 << 20, '['), {"nested"});
  std::string intervals = "attributes:\n  - name: a\n    categories:\n";
  for (int i = 0; i < 40; ++i) intervals += "      - \"[" + std::to_string(i) + ", x)\"\n";
  EXPECT_EQ(parse_domain(intervals).attributes[0].high, 39) << "brackets in quotes are no nesting";
  expect_config_error(std::string((1 << 24) + 1, ' '), {"expected at most 16777216"});
}

TEST(DomainYaml, FilesAreFoundOrNamed) {
  TemporaryFolder const folder;
  expect_error(ExitCode::kNoInput, {"none.yaml: no such file"},
               [&] { read_domain_yaml(folder.file("none.yaml")); });
  expect_error(ExitCode::kNoInput, {"is a directory"}, [&] { read_domain_yaml(folder.file("")); });
  EXPECT_EQ(read_domain_yaml(folder.write("d.yaml", kGood)).size(), 4);
}

TEST(Domain, ResolveBounds) {
  Domain domain =
      parse_domain("attributes: [{name: a}, {name: b, low: 0}, {name: c, low: 2, high: 3}]");
  expect_error(ExitCode::kConfig, {"'a'", "no low and high", "no data"},
               [&] { resolve_bounds(domain, nullptr); });
  Dataset data;
  data.source = "t.csv";
  data.attributes = 3;
  expect_error(ExitCode::kConfig, {"'a'"}, [&] { resolve_bounds(domain, &data); });
  data.rows = {7, 5, 9, -2, 6, 9};
  resolve_bounds(domain, &data);
  EXPECT_EQ(domain.attributes[0].low, -2);
  EXPECT_EQ(domain.attributes[0].high, 7);
  EXPECT_EQ(domain.attributes[1].low, 0);
  EXPECT_EQ(domain.attributes[1].high, 6);
  EXPECT_EQ(domain.attributes[2].high, 3);
  EXPECT_NO_THROW(resolve_bounds(domain, nullptr));
  Domain above = parse_domain("attributes: [{name: a}, {name: b, low: 10}, {name: c}]");
  expect_error(ExitCode::kConfig, {"'b'", "low 10 > high 6", "t.csv"},
               [&] { resolve_bounds(above, &data); });
}

TEST(DomainYaml, ReadsTheBenchmarkDomains) {
  FL_NEED_BENCHMARKS(dir);
  int count = 0;
  for (auto const& entry : std::filesystem::directory_iterator(dir / "data")) {
    if (entry.path().extension() != ".yaml") continue;
    ++count;
    Domain const domain = read_domain_yaml(entry.path().string());
    EXPECT_GE(domain.size(), 12);
    EXPECT_GT(domain.inputs(), 1e6);
    expect_equal(domain, parse_domain(format_domain_yaml(domain)));
  }
  EXPECT_GE(count, 6);
}

}  // namespace
}  // namespace fairlane
