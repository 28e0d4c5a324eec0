#include "engine/retrain/retraining_set.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "models/data/encoding.h"

namespace fairlane {
namespace {

/// Whether each input is of an attribute under test: [columns].
std::vector<bool> hidden_columns(TestSubject const& subject) {
  std::vector<bool> hidden;
  for (std::int32_t a = 0; a < subject.domain().size(); ++a) {
    bool const is_tested = std::ranges::count(subject.selected(), a) > 0;
    int const width = encoded_width(subject.domain().attributes[static_cast<std::size_t>(a)]);
    hidden.insert(hidden.end(), static_cast<std::size_t>(width), is_tested);
  }
  return hidden;
}

std::string head(Domain const& domain) {
  std::string text;
  for (Attribute const& attribute : domain.attributes) text += csv_cell(attribute.name) + ",";
  return text + csv_cell(domain.label);
}

/// "1,2,3,0": codes and label.
std::string cells(TrainingRows const& rows, std::size_t i) {
  std::string text;
  auto const width = static_cast<std::size_t>(rows.attributes);
  for (std::size_t a = 0; a < width; ++a) text += fmt::format("{},", rows.rows[i * width + a]);
  return text + fmt::format("{}", rows.labels[i]);
}

}  // namespace

void AddedRows::set(TrainingTable const& table, std::vector<std::int32_t> codes, Votes votes,
                    std::vector<float> of_rows) {
  rows = {};
  rows.attributes = table.train.attributes;
  rows.columns = table.train.columns;
  shares = std::move(votes.shares);
  weights = std::move(of_rows);
  for (std::size_t i = 0; i < votes.labels.size(); ++i)
    rows.add(table.domain, &codes[i * static_cast<std::size_t>(rows.attributes)], votes.labels[i]);
}

void AddedRows::append(AddedRows const& more) {
  rows.attributes = more.rows.attributes;
  rows.columns = more.rows.columns;
  more.append_to(rows);
  shares.insert(shares.end(), more.shares.begin(), more.shares.end());
  weights.insert(weights.end(), more.weights.begin(), more.weights.end());
}

void AddedRows::keep(std::size_t count) {
  rows.rows.resize(count * static_cast<std::size_t>(rows.attributes));
  rows.inputs.resize(count * static_cast<std::size_t>(rows.columns));
  rows.labels.resize(count);
  shares.resize(count);
  weights.resize(count);
}

void AddedRows::append_to(TrainingRows& to) const {
  to.rows.insert(to.rows.end(), rows.rows.begin(), rows.rows.end());
  to.inputs.insert(to.inputs.end(), rows.inputs.begin(), rows.inputs.end());
  to.labels.insert(to.labels.end(), rows.labels.begin(), rows.labels.end());
}

void AddedRows::weigh(std::vector<float>& all) const {
  std::size_t const first = all.size() - weights.size();
  for (std::size_t i = 0; i < weights.size(); ++i) all[first + i] *= weights[i];
}

std::string labelled_csv(Domain const& domain, TrainingRows const& rows, std::size_t plain) {
  bool const tells = plain < rows.count();
  std::string text = head(domain) + (tells ? ",added\n" : "\n");
  for (std::size_t i = 0; i < rows.count(); ++i)
    text += cells(rows, i) + (!tells ? "\n" : i < plain ? ",0\n" : ",1\n");
  return text;
}

std::string added_csv(Domain const& domain, AddedRows const& added) {
  std::string text = head(domain) + ",vote\n";
  for (std::size_t i = 0; i < added.rows.count(); ++i)
    text += fmt::format("{},{:.4f}\n", cells(added.rows, i), added.shares[i]);
  return text;
}

void hide_protected(TestSubject const& subject, TrainingRows& rows) {
  std::vector<bool> const hidden = hidden_columns(subject);
  for (std::size_t i = 0; i < rows.inputs.size(); ++i) {
    if (hidden[i % hidden.size()]) rows.inputs[i] = 0.0F;
  }
}

void forget_protected(TestSubject const& subject, Network& network) {
  std::vector<bool> const hidden = hidden_columns(subject);
  DenseLayer& layer = network.layers.front();
  auto const outputs = static_cast<std::size_t>(layer.outputs);
  for (std::size_t i = 0; i < layer.weights.size(); ++i) {
    if (hidden[i / outputs]) layer.weights[i] = 0.0F;
  }
}

}  // namespace fairlane
