// Instances in the domain's words, as lines of a CSV.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/results/instance_columns.h"
#include "engine/results/instances_reader.h"

namespace fairlane {

inline constexpr char const* kInstanceWords = "instances.words.csv";

/// What instances are in words; shared by all threads.
class InstanceWords {
 public:
  /// selected  [selected] the protected attributes, ascending. The domain and the columns outlive
  ///           this object.
  InstanceWords(Domain const& domain, std::span<std::int32_t const> selected,
                InstanceColumns const& columns);

  /// Appends all columns as a line; those without words as instances.csv has them.
  void append_line(std::string& bytes, InstanceRecord const& record) const;

 private:
  void append_code(std::string& bytes, std::size_t attribute, std::int32_t code) const;
  void append_label(std::string& bytes, std::int32_t label) const;

  Domain const& domain_;
  InstanceColumns const& columns_;
  std::vector<std::size_t> selected_;
  std::vector<std::vector<std::string>> words_;  // [attributes][codes that have words] as cells
  std::map<std::int32_t, std::string> labels_;   // cells of the classes that have words
};

}  // namespace fairlane
