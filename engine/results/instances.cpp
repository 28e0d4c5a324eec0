// Rows are decoded, described and formatted by several threads, written in order.
#include "engine/results/instances.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/threads/ordered_pipeline.h"
#include "engine/results/instance_columns.h"
#include "engine/results/instance_files.h"
#include "engine/results/instance_words.h"
#include "engine/results/row_decoder.h"
#include "engine/results/table_models.h"
#include "engine/results/table_plausibility.h"

namespace fairlane {
namespace {

constexpr std::size_t kNumberRoom = 32;   // longest number written, with its comma
constexpr std::size_t kOtherColumns = 9;  // beside attributes and the pair's, at most

/// Instances on their way from keys to bytes.
/// beside   [count] finders, or words of LabelPair
/// rows     [count][attributes], where something is computed from them
/// votes    where voters are asked
/// bytes    as the file has them
/// words    the lines of instances.words.csv, where that is written
/// figures  the lines of instances.plausibility.csv, where that is written
/// records  of the signature, where these are other bytes
struct Batch {
  std::size_t count = 0;
  std::vector<std::uint64_t> keys;
  std::vector<std::uint64_t> beside;
  std::vector<std::int32_t> rows;
  std::vector<Description> descriptions;
  Votes votes;
  RowDecoder::Decoded decoded;
  std::string bytes;
  std::string words;
  std::string figures;
  std::string records;
  double severity_sum = 0.0;
  double severity_max = 0.0;
};

/// The bytes of a form of rows: those of attributes, and of the pair of each variant.
struct RowBytes {
  RowBytes(TestSubject const& subject, PackedSubject const& packed, Findings const& findings,
           InstanceColumns const& columns, CellForm form)
      : rows(subject, findings.codec(), columns, form, findings.counts().unique_instances) {
    if (columns.selected() == 0) return;
    std::vector<std::int32_t> values(columns.selected());
    for (int v = 0; v < packed.get().variants; ++v) {
      for (std::size_t s = 0; s < values.size(); ++s)
        values[s] = packed.variant_value(v, static_cast<int>(s));
      append_cells(pairs.emplace_back(), form, values.data(),
                   columns.all().data() + columns.attributes(), values.size());
    }
  }
  RowDecoder rows;
  std::vector<std::string> pairs;  // [variants]
};

/// Turns batches of keys into bytes; shared by all threads.
class InstanceFormatter {
 public:
  InstanceFormatter(RunConfig const& config, TestSubject const& subject, Findings const& findings,
                    InstanceColumns const& columns, Backend& backend, TableModels const& models);
  void format(Batch& batch) const;

 private:
  void decode_rows(Batch& batch) const;
  void describe(Batch& batch) const;
  void take_label_pairs(Batch& batch) const;
  void put_csv(Batch& batch) const;
  void put_array(Batch& batch, bool has_votes, std::string& bytes) const;
  void put_records(Batch& batch) const;
  void put_words(Batch& batch) const;
  void put_plausibility(Batch& batch) const;
  [[noreturn]] void fail_without_pair(std::int32_t const* row) const;

  OutputConfig const& output_;
  std::string asked_;  // what answers for the rows, where it is no network
  Backend& backend_;
  TableModels const& models_;
  bool is_described_;  // every instance is evaluated once more
  std::size_t attributes_;
  std::size_t selected_;
  std::size_t words_;
  std::size_t row_bytes_;
  NpyType label_type_;
  std::optional<RowBytes> text_;    // for a CSV
  std::optional<RowBytes> binary_;  // for arrays, and signatures of fewer columns
  std::optional<InstanceWords> in_words_;
  std::vector<std::int32_t> pairs_;  // [variants][selected] for words
};

InstanceFormatter::InstanceFormatter(RunConfig const& config, TestSubject const& subject,
                                     Findings const& findings, InstanceColumns const& columns,
                                     Backend& backend, TableModels const& models)
    : output_(config.output),
      backend_(backend),
      models_(models),
      is_described_(output_.columns == OutputColumns::kAll ||
                    (output_.columns == OutputColumns::kLabels && !findings.has_label_pairs())),
      attributes_(columns.attributes()),
      selected_(columns.selected()),
      words_(static_cast<std::size_t>(findings.codec().words())),
      row_bytes_(npy_row_bytes(columns.fields())),
      label_type_(smallest_npy_type(0, std::max(2, subject.model().outputs()) - 1)) {
  if (subject.model().scorer()) asked_ = escaped(subject.model().scorer()->name());
  auto const form = [&](std::optional<RowBytes>& of, CellForm cells) {
    of.emplace(subject, backend.subject(), findings, columns, cells);
  };
  form(binary_, CellForm::kBinary);
  if (output_.format == OutputFormat::kCsv) form(text_, CellForm::kText);
  if (!output_.words) return;
  in_words_.emplace(subject.domain(), subject.selected(), columns);
  PackedSubject const& packed = backend.subject();
  if (!columns.has_labels()) return;
  for (int v = 0; v < packed.get().variants; ++v) {
    for (std::size_t s = 0; s < columns.selected(); ++s)
      pairs_.push_back(packed.variant_value(v, static_cast<int>(s)));
  }
}

void InstanceFormatter::format(Batch& batch) const {
  bool const has_all = output_.columns == OutputColumns::kAll;
  batch.severity_sum = 0.0;
  batch.severity_max = 0.0;
  if (is_described_) {
    describe(batch);
  } else if (output_.columns == OutputColumns::kLabels) {
    take_label_pairs(batch);
  }
  if (has_all) put_records(batch);
  bool const takes_rows = models_.voters || in_words_ || models_.plausibility;
  if (!is_described_ && takes_rows) decode_rows(batch);
  if (models_.voters) batch.votes = models_.voters->vote(batch.rows, *output_.vote);
  if (output_.format == OutputFormat::kCsv) put_csv(batch);
  bool const is_array = has_rows_of_arrays(output_.format);
  bool const has_votes = models_.voters.has_value();
  if (is_array) put_array(batch, has_votes, batch.bytes);
  // No library decides a signature.
  if (!has_all && (!is_array || has_votes)) put_array(batch, false, batch.records);
  if (in_words_) put_words(batch);
  if (models_.plausibility) put_plausibility(batch);
}

void InstanceFormatter::decode_rows(Batch& batch) const {
  batch.rows.resize(batch.count * attributes_);
  binary_->rows.decode_rows(batch.keys.data(), batch.count, batch.rows.data());
}

void InstanceFormatter::describe(Batch& batch) const {
  batch.descriptions.resize(batch.count);
  decode_rows(batch);
  backend_.describe(batch.rows.data(), batch.count, batch.descriptions.data());
  for (std::size_t i = 0; i < batch.count; ++i) {
    auto const& d = batch.descriptions[i];
    if (d.pair_variant < 0) fail_without_pair(&batch.rows[i * attributes_]);
    batch.severity_sum += static_cast<double>(d.severity);
    batch.severity_max = std::max(batch.severity_max, static_cast<double>(d.severity));
  }
}

void InstanceFormatter::take_label_pairs(Batch& batch) const {
  batch.descriptions.resize(batch.count);
  std::vector<std::size_t> unknown;
  for (std::size_t i = 0; i < batch.count; ++i) {
    if (batch.beside[i] == LabelPair::kUnknown) {
      unknown.push_back(i);
      continue;
    }
    LabelPair const pair = LabelPair::of_word(batch.beside[i]);
    auto& d = batch.descriptions[i];
    d.label = static_cast<std::int32_t>(pair.label);
    d.pair_label = static_cast<std::int32_t>(pair.pair_label);
    d.pair_variant = static_cast<std::int32_t>(pair.variant);
  }
  if (unknown.empty()) return;
  Batch few;
  few.count = unknown.size();
  for (std::size_t const i : unknown) {
    auto const key = batch.keys.begin() + static_cast<std::ptrdiff_t>(i * words_);
    few.keys.insert(few.keys.end(), key, key + static_cast<std::ptrdiff_t>(words_));
  }
  describe(few);
  for (std::size_t k = 0; k < unknown.size(); ++k)
    batch.descriptions[unknown[k]] = few.descriptions[k];
}

void InstanceFormatter::fail_without_pair(std::int32_t const* row) const {
  std::string const instance = fmt::format("{}", fmt::join(row, row + attributes_, ","));
  if (asked_.empty()) {
    throw Error(ExitCode::kBug,
                fmt::format("the instance {} was recorded as an IDI, but no member of its similar "
                            "set has another label",
                            instance));
  }
  throw Error(
      ExitCode::kIntegrity,
      fmt::format("{}: answers equal rows differently: when it was searched, the row {} had "
                  "another label than a member of its similar set, and now it has none; "
                  "expected equal rows to get equal scores, whatever stands beside them "
                  "(no random numbers, no dropout, no state)",
                  asked_, instance));
}

void InstanceFormatter::put_records(Batch& batch) const {
  std::size_t const row_bytes = attributes_ * sizeof(std::int32_t);
  batch.records.resize(batch.count * (row_bytes + sizeof(std::int32_t) + sizeof(std::uint64_t)));
  char* to = batch.records.data();
  for (std::size_t i = 0; i < batch.count; ++i) {
    std::memcpy(to, &batch.rows[i * attributes_], row_bytes);
    to += row_bytes;
    std::memcpy(to, &batch.descriptions[i].pair_variant, sizeof(std::int32_t));
    to += sizeof(std::int32_t);
    std::memcpy(to, &batch.beside[i], sizeof(std::uint64_t));
    to += sizeof(std::uint64_t);
  }
}

char* copy(char* to, std::string_view bytes) {
  std::memcpy(to, bytes.data(), bytes.size());
  return to + bytes.size();
}

void InstanceFormatter::put_csv(Batch& batch) const {
  auto& decoded = batch.decoded;
  text_->rows.decode(batch.keys.data(), batch.count, decoded);
  // Longest line: every cell a number.
  std::size_t const longest = (2 * attributes_ + kOtherColumns) * kNumberRoom;
  std::size_t used = 0;
  batch.bytes.resize(std::max(batch.bytes.capacity(), longest));
  for (std::size_t i = 0; i < batch.count; ++i) {
    if (batch.bytes.size() - used < longest) batch.bytes.resize(batch.bytes.size() * 2);
    char* to = batch.bytes.data() + used;
    auto const put = [&](auto value) {
      to = std::to_chars(to, to + kNumberRoom, value).ptr;
      *to++ = ',';
    };
    to = copy(to, decoded.heads[decoded.head[i]]);
    to = copy(to, text_->rows.tail_bytes(decoded.tail[i]));
    if (output_.columns >= OutputColumns::kLabels) {
      auto const& d = batch.descriptions[i];
      to = copy(to, text_->pairs[static_cast<std::size_t>(d.pair_variant)]);
      put(d.label);
      put(d.pair_label);
      if (output_.columns == OutputColumns::kAll) {
        std::uint64_t const finder = batch.beside[i];
        put(d.score);
        put(d.pair_score);
        to = copy(to, kFinderPhases[finder_phase(finder)]);
        *to++ = ',';
        put(Finder::seed(finder));
        put(Finder::iteration(finder));
      }
    }
    if (models_.voters) {
      put(batch.votes.labels[i]);
      put(batch.votes.shares[i]);
    }
    *(to - 1) = '\n';  // for the last comma
    used = static_cast<std::size_t>(to - batch.bytes.data());
  }
  batch.bytes.resize(used);
}

void InstanceFormatter::put_array(Batch& batch, bool has_votes, std::string& bytes) const {
  auto& decoded = batch.decoded;
  binary_->rows.decode(batch.keys.data(), batch.count, decoded);
  std::size_t const label_bytes = npy_type(label_type_).bytes;
  bool const lacks_votes = models_.voters && !has_votes;
  bytes.resize(batch.count * (row_bytes_ - (lacks_votes ? label_bytes + sizeof(float) : 0)));
  char* to = bytes.data();
  auto const put = [&](auto value, std::size_t size) {
    std::memcpy(to, &value, size);
    to += size;
  };
  for (std::size_t i = 0; i < batch.count; ++i) {
    to = copy(to, decoded.heads[decoded.head[i]]);
    to = copy(to, binary_->rows.tail_bytes(decoded.tail[i]));
    if (output_.columns >= OutputColumns::kLabels) {
      auto const& d = batch.descriptions[i];
      to = copy(to, binary_->pairs[static_cast<std::size_t>(d.pair_variant)]);
      put(d.label, label_bytes);
      put(d.pair_label, label_bytes);
      if (output_.columns == OutputColumns::kAll) {
        std::uint64_t const finder = batch.beside[i];
        put(d.score, sizeof(float));
        put(d.pair_score, sizeof(float));
        put(static_cast<std::uint8_t>(finder_phase(finder)), sizeof(std::uint8_t));
        put(Finder::seed(finder), sizeof(std::uint32_t));
        put(Finder::iteration(finder), sizeof(std::uint32_t));
      }
    }
    if (has_votes) {
      put(batch.votes.labels[i], label_bytes);
      put(batch.votes.shares[i], sizeof(float));
    }
  }
}

void InstanceFormatter::put_words(Batch& batch) const {
  bool const has_labels = output_.columns >= OutputColumns::kLabels;
  batch.words.clear();
  for (std::size_t i = 0; i < batch.count; ++i) {
    InstanceRecord record;
    record.row = &batch.rows[i * attributes_];
    if (has_labels) {
      auto const& d = batch.descriptions[i];
      record.pair = pairs_.data() + static_cast<std::size_t>(d.pair_variant) * selected_;
      record.label = d.label;
      record.pair_label = d.pair_label;
      record.score = d.score;
      record.pair_score = d.pair_score;
      record.finder = batch.beside[i];
    }
    if (models_.voters) {
      record.voted_label = batch.votes.labels[i];
      record.vote = batch.votes.shares[i];
    }
    in_words_->append_line(batch.words, record);
  }
}

void InstanceFormatter::put_plausibility(Batch& batch) const {
  batch.figures.clear();
  for (std::size_t i = 0; i < batch.count; ++i)
    append_plausibility(batch.figures, *models_.plausibility, &batch.rows[i * attributes_]);
}

/// A file with a header that is written beside the instances.
std::unique_ptr<FileWriter> open_beside(OutputDir& out, char const* name,
                                        std::string const& header) {
  auto file = std::make_unique<FileWriter>(out.partial(name));
  file->write(header.data(), header.size());
  return file;
}

}  // namespace

InstanceTotals write_instances(RunConfig const& config, TestSubject const& subject,
                               Findings const& findings, Backend& backend,
                               TableModels const& models, OutputDir& out) {
  std::int64_t const count = findings.counts().unique_instances;
  InstanceColumns const columns(subject, config.output);
  InstanceFormatter const formatter(config, subject, findings, columns, backend, models);
  InstanceWriter writer(config, columns, count, out);
  std::unique_ptr<FileWriter> words_file;
  std::unique_ptr<FileWriter> figures_file;
  if (config.output.words) words_file = open_beside(out, kInstanceWords, columns.csv_header());
  if (models.plausibility)
    figures_file = open_beside(out, kInstancePlausibility, kPlausibilityHeader);
  Sha256 hash;
  double severity_sum = 0.0;
  double severity_max = 0.0;
  auto const sink = [&](Batch& batch) {
    std::string const& records = batch.records.empty() ? batch.bytes : batch.records;
    hash.update(records.data(), records.size());
    writer.write(batch.bytes, static_cast<std::int64_t>(batch.count));
    if (words_file) words_file->write(batch.words.data(), batch.words.size());
    if (figures_file) figures_file->write(batch.figures.data(), batch.figures.size());
    severity_sum += batch.severity_sum;  // in the order of the instances, whoever computed it
    severity_max = std::max(severity_max, batch.severity_max);
  };
  OrderedPipeline<Batch> pipeline(
      backend.concurrency(), [&](Batch& batch) { formatter.format(batch); }, sink);
  auto const words = static_cast<std::size_t>(findings.codec().words());
  std::int64_t const shard = config.output.shard_rows.value_or(std::max<std::int64_t>(1, count));
  std::int64_t submitted = 0;
  findings.for_each_key([&](std::uint64_t const* keys, std::uint64_t const* beside, std::size_t n) {
    for (std::size_t first = 0; first < n;) {
      // No batch goes to two files.
      auto const room = static_cast<std::size_t>(shard - submitted % shard);
      Batch& batch = pipeline.slot();
      batch.count = std::min(n - first, room);
      batch.keys.assign(keys + first * words, keys + (first + batch.count) * words);
      batch.beside.assign(beside + first, beside + first + batch.count);
      first += batch.count;
      submitted += static_cast<std::int64_t>(batch.count);
      pipeline.submit();
    }
  });
  pipeline.drain();
  auto const& files = writer.finish();
  if (words_file) words_file->close();
  if (figures_file) figures_file->close();
  if (config.output.format != OutputFormat::kNone)
    out.write(kInstanceIndex,
              instance_index_json(config, subject, columns,
                                  models.voters ? &*models.voters : nullptr, files));
  InstanceTotals totals;
  totals.signature = hash.finish();
  if (columns.has_scores()) {
    totals.severity_mean = count > 0 ? severity_sum / static_cast<double>(count) : 0.0;
    totals.severity_max = severity_max;
  }
  return totals;
}

}  // namespace fairlane
