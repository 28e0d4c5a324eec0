#include "engine/results/instance_words.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "kernels/visits.h"

namespace fairlane {
namespace {

/// The words of an attribute's codes as cells of a CSV, by the codes' indices. There are no more
/// than the domain file lists; other codes are numbers.
std::vector<std::string> cells_of(Attribute const& attribute) {
  std::vector<std::string> cells;
  bool const has_words = !attribute.categories.empty() || !attribute.bins.empty();
  bool const has_codes = !attribute.values.empty() || (attribute.low && attribute.high);
  if (!has_words || !has_codes) return cells;
  auto const most =
      static_cast<std::int64_t>(std::max(attribute.categories.size(), attribute.bins.size()));
  for (std::int64_t i = 0; i < std::min(most, attribute.code_count()); ++i)
    cells.push_back(csv_cell(attribute.word(attribute.code_at(i))));
  return cells;
}

template <class Number>
void put_number(std::string& bytes, Number number) {
  constexpr std::size_t kLongest = 32;  // of a number, with its comma
  char cell[kLongest];
  char* const end = std::to_chars(cell, cell + kLongest - 1, number).ptr;
  *end = ',';
  bytes.append(cell, end + 1);
}

}  // namespace

InstanceWords::InstanceWords(Domain const& domain, std::span<std::int32_t const> selected,
                             InstanceColumns const& columns)
    : domain_(domain), columns_(columns), selected_(selected.begin(), selected.end()) {
  for (Attribute const& attribute : domain.attributes) words_.push_back(cells_of(attribute));
  for (LabelName const& one : domain.labels) {
    if (!labels_.contains(one.label)) labels_[one.label] = csv_cell(domain.label_word(one.label));
  }
}

void InstanceWords::append_code(std::string& bytes, std::size_t attribute,
                                std::int32_t code) const {
  auto const& words = words_[attribute];
  if (!words.empty()) {
    std::int64_t const index = domain_.attributes[attribute].index_of(code);
    if (index >= 0 && index < static_cast<std::int64_t>(words.size())) {
      bytes += words[static_cast<std::size_t>(index)];
      bytes += ',';
      return;
    }
  }
  bytes += csv_cell(domain_.attributes[attribute].word(code));
  bytes += ',';
}

void InstanceWords::append_label(std::string& bytes, std::int32_t label) const {
  auto const found = labels_.find(label);
  if (found == labels_.end()) return put_number(bytes, label);
  bytes += found->second;
  bytes += ',';
}

void InstanceWords::append_line(std::string& bytes, InstanceRecord const& record) const {
  for (std::size_t a = 0; a < words_.size(); ++a) append_code(bytes, a, record.row[a]);
  if (columns_.has_labels()) {
    for (std::size_t s = 0; s < selected_.size(); ++s)
      append_code(bytes, selected_[s], record.pair[s]);
    append_label(bytes, record.label);
    append_label(bytes, record.pair_label);
  }
  if (columns_.has_scores()) {
    put_number(bytes, record.score);
    put_number(bytes, record.pair_score);
    bytes += kFinderPhases[finder_phase(record.finder)];
    bytes += ',';
    put_number(bytes, Finder::seed(record.finder));
    put_number(bytes, Finder::iteration(record.finder));
  }
  if (columns_.has_votes()) {
    append_label(bytes, record.voted_label);
    put_number(bytes, record.vote);
  }
  bytes.back() = '\n';  // for the last comma
}

}  // namespace fairlane
