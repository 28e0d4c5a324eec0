// The input domain: named attributes with integer codes low..high.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/data/constraint.h"
#include "models/data/encoding.h"
#include "models/data/raw_form.h"

namespace fairlane {

struct Dataset;

/// Codes must be exact in float32.
inline constexpr std::int32_t kMaxCode = 1 << 24;

/// One attribute. Bounds are inclusive codes; absent bounds are taken from the data.
struct Attribute {
  std::string name;
  std::optional<std::int32_t> low;
  std::optional<std::int32_t> high;
  bool is_protected = false;
  std::vector<std::string> categories;  // names of the codes, ascending; empty when numeric
  std::vector<double> bins;  // edges of a binned raw column: the i-th code's cells lie above the
                             // i-th edge, up to the next
  bool immutable = false;    // no search changes it
  std::vector<std::int32_t> values = {};  // the codes that may occur, ascending; empty: low..high
  Encoding encoding = {};
  std::string column = {};  // of the raw table; empty: the attribute's own name
  bool imputes = false;     // a missing raw value becomes the most frequent code

  std::string const& raw_column() const { return column.empty() ? name : column; }
  /// A code as people say it: its category, its bin as a range such as 45-59, or the number; of a
  /// code that may not occur, the number.
  std::string word(std::int32_t code) const;
  /// Code of the bin that a number lies in, or nothing where it lies in none.
  std::optional<std::int32_t> bin_code(double number) const;

  /// How many codes there are, and the i-th of them. Bounds are resolved.
  std::int64_t code_count() const;
  std::int32_t code_at(std::int64_t i) const;
  /// Number of a code among those that may occur, or -1; an absent bound excludes nothing.
  std::int64_t index_of(std::int32_t code) const;
  bool allows(std::int32_t code) const { return index_of(code) >= 0; }
  /// The code that may occur nearest to one that may not, the lower of two.
  std::int32_t nearest(std::int32_t code) const;
  /// "0..9" or "one of 1, 4, 7", for messages; "data" for an absent bound.
  std::string codes_text() const;
};

/// What a cell of the label column stands for, where it is no class number.
struct LabelName {
  std::string text;
  std::int32_t label = 0;
};

/// A domain; its attribute order is the model's input order: its inputs are the attributes' columns
/// side by side.
struct Domain {
  std::string source;  // file, for messages
  std::string name;
  std::string label = "label";         // the label column
  bool names_label = false;            // the file says so: a table of other columns must have it
  std::vector<LabelName> labels = {};  // of the label column's cells; empty: they are class numbers
  std::vector<Attribute> attributes;
  RawForm raw = {};
  std::vector<Constraint> constraints = {};  // an input that violates one does not exist

  /// The label column of the raw table.
  std::string const& raw_label() const { return raw.label.empty() ? label : raw.label; }
  /// What a cell of the label column says for a class: the first that stands for it, or the number.
  std::string label_word(std::int32_t label_class) const;
  /// Whether a word of the labels stands for that class.
  bool has_class(std::int32_t label_class) const;
  /// A word of the labels that is the number of another one's class, or null.
  LabelName const* clashing_label() const;

  int size() const { return static_cast<int>(attributes.size()); }
  /// Index of the attribute of that name, or -1.
  int find(std::string const& name) const;
  /// Number of inputs, as a double (it may exceed 2^64); NaN while a bound is absent.
  double inputs() const;
  /// Whether some attribute is not simply one input, its code.
  bool encodes() const;
  /// Number of the model's inputs: the attributes' columns. Bounds are resolved.
  int columns() const;
  /// Appends the model's inputs for a row of codes, from the domain file's words alone, without the
  /// kernels' tables.
  void encode(std::int32_t const* row, std::vector<double>& inputs) const;
};

/// Fills absent bounds with the data's minimum and maximum, and settles the constraints with them.
/// Throws Error(kConfig) if a bound or `from_data` needs data and none is given.
void resolve_bounds(Domain& domain, Dataset const* data);

}  // namespace fairlane
