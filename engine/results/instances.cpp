// Rows are decoded, described and formatted by several threads, written in order.
#include "engine/results/instances.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/ordered_pipeline.h"
#include "base/sha256.h"
#include "base/text.h"
#include "engine/record/row_codec.h"
#include "engine/results/npy.h"

namespace fairlane {
namespace {

static_assert(std::endian::native == std::endian::little,
              "signature and npy files are little-endian");

constexpr std::uint64_t kMostTails =
    1U << 16;  // rows of RowTable, beyond which it no longer fits a cache
constexpr std::int64_t kInstancesPerTail =
    8;                                   // a table pays once its entries are used several times
constexpr std::size_t kNumberRoom = 32;  // longest number written, with its comma

template <class T>
char* put(char* to, T value) {
  return std::to_chars(to, to + kNumberRoom, value).ptr;
}

/// Rows from keys, with their text. The last attributes of all rows ("tails") are decoded once into
/// a table, and neighbours in canonical order mostly share what precedes them.
class RowTable {
 public:
  RowTable(TestSubject const& subject, RowCodec const& codec, std::int64_t instances, bool text);

  /// Rows of a batch, and where the text of each is: cells with a comma behind each.
  /// head  [count] index of the row's head in heads
  /// tail  [count] number of its tail
  struct Decoded {
    std::vector<std::int32_t> rows;  // [count][attributes]
    std::vector<std::uint32_t> head;
    std::vector<std::uint32_t> tail;
    std::vector<std::string> heads;
  };
  void decode(std::uint64_t const* keys, std::size_t count, Decoded& out) const;
  std::string_view tail_text(std::uint32_t tail) const {
    return {chars_.data() + offset_[tail], offset_[tail + 1] - offset_[tail]};
  }

 private:
  RowCodec const& codec_;
  std::size_t attributes_;
  std::size_t words_;
  std::size_t first_;  // first attribute of the tail
  std::uint64_t tails_ = 1;
  bool text_;
  std::vector<std::int32_t> rows_;     // [tails][attributes - first]
  std::vector<std::uint32_t> offset_;  // [tails + 1] into chars_
  std::string chars_;
};

void append_cells(std::string& text, std::int32_t const* values, std::size_t count) {
  char cell[kNumberRoom];
  for (std::size_t i = 0; i < count; ++i) {
    char* const end = put(cell, values[i]);
    *end = ',';
    text.append(cell, end + 1);
  }
}

RowTable::RowTable(TestSubject const& subject, RowCodec const& codec, std::int64_t instances,
                   bool text)
    : codec_(codec),
      attributes_(static_cast<std::size_t>(codec.attributes())),
      words_(static_cast<std::size_t>(codec.words())),
      first_(attributes_),
      text_(text) {
  auto const most = std::min(kMostTails, static_cast<std::uint64_t>(instances / kInstancesPerTail));
  std::vector<std::int32_t> low(subject.view().low.begin(), subject.view().low.end());
  // A tail is the remainder of the last word, so it ends where that word does.
  std::vector<std::uint64_t> key(words_);
  while (first_ > 0) {
    std::size_t const a = first_ - 1;
    auto const range = static_cast<std::uint64_t>(subject.view().code_count(a));
    if (tails_ * range > most) break;
    auto probe = low;
    probe[a] = subject.view().high[a];
    codec.row_key(probe.data(), key.data());
    if (range > 1 && key.back() != tails_ * (range - 1)) break;
    tails_ *= range;
    first_ = a;
  }
  std::size_t const width = attributes_ - first_;
  rows_.resize(static_cast<std::size_t>(tails_) * width);
  offset_.push_back(0);
  std::fill(key.begin(), key.end(), 0);
  std::vector<std::int32_t> row(attributes_);
  for (std::uint64_t t = 0; t < tails_; ++t) {
    key.back() = t;
    codec.row_of_key(key.data(), row.data());
    std::copy_n(row.data() + first_, width, rows_.data() + t * width);
    if (text_) append_cells(chars_, row.data() + first_, width);
    offset_.push_back(static_cast<std::uint32_t>(chars_.size()));
  }
}

void RowTable::decode(std::uint64_t const* keys, std::size_t count, Decoded& out) const {
  out.rows.resize(count * attributes_);
  out.head.resize(count);
  out.tail.resize(count);
  out.heads.clear();
  std::size_t const width = attributes_ - first_;
  std::uint64_t const* before = nullptr;
  std::uint64_t last_head = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t const* key = keys + i * words_;
    std::int32_t* row = &out.rows[i * attributes_];
    std::uint64_t const head = key[words_ - 1] / tails_;
    auto const tail = static_cast<std::uint32_t>(key[words_ - 1] - head * tails_);
    bool same = before != nullptr && head == last_head;
    for (std::size_t w = 0; same && w + 1 < words_; ++w) same = key[w] == before[w];
    if (same) {
      std::copy_n(row - attributes_, first_, row);
      std::copy_n(rows_.data() + tail * width, width, row + first_);
    } else {
      codec_.row_of_key(key, row);
      out.heads.emplace_back();
      if (text_) append_cells(out.heads.back(), row, first_);
    }
    out.head[i] = static_cast<std::uint32_t>(out.heads.size() - 1);
    out.tail[i] = tail;
    before = key;
    last_head = head;
  }
}

/// Instances on their way from keys to bytes.
struct Batch {
  std::size_t count = 0;
  std::vector<std::uint64_t> keys;
  std::vector<std::uint64_t> finders;
  RowTable::Decoded decoded;
  std::vector<Description> descriptions;
  std::string text;                 // csv
  std::vector<char> records;        // of the signature
  std::vector<std::int32_t> table;  // npy
  std::vector<float> scores;        // npy [count][score, pair_score]
  double severity_sum = 0.0;
  double severity_max = 0.0;
};

/// Turns batches of keys into bytes; shared by all threads.
class InstanceFormatter {
 public:
  InstanceFormatter(RunConfig const& config, TestSubject const& subject, Findings const& findings,
                    Backend& backend);
  void format(Batch& batch) const;

 private:
  void list_pairs(PackedSubject const& packed);
  void format_csv(Batch& batch) const;
  void put_table(Batch& batch) const;
  void put_records(Batch& batch) const;
  [[noreturn]] void fail_without_pair(std::int32_t const* row) const;

  OutputFormat format_;
  std::string asked_;  // what answers for the rows, where it is no network
  Backend& backend_;
  std::size_t attributes_;
  std::size_t selected_;
  std::size_t words_;
  RowTable table_;
  std::vector<std::int32_t> pair_values_;  // [variants][selected]
  std::vector<std::string> pair_text_;     // [variants]
};

InstanceFormatter::InstanceFormatter(RunConfig const& config, TestSubject const& subject,
                                     Findings const& findings, Backend& backend)
    : format_(config.output.format),
      backend_(backend),
      attributes_(subject.domain().attributes.size()),
      selected_(subject.selected().size()),
      words_(static_cast<std::size_t>(findings.codec().words())),
      table_(subject, findings.codec(), findings.counts().unique_instances,
             config.output.format == OutputFormat::kCsv) {
  if (subject.model().scorer()) asked_ = escaped(subject.model().scorer()->name());
  list_pairs(backend.subject());
}

void InstanceFormatter::list_pairs(PackedSubject const& packed) {
  int const variants = packed.get().variants;
  for (int v = 0; v < variants; ++v) {
    for (int s = 0; s < packed.get().selected; ++s)
      pair_values_.push_back(packed.variant_value(v, s));
    if (format_ != OutputFormat::kCsv) continue;
    pair_text_.emplace_back();
    append_cells(pair_text_.back(), &pair_values_[static_cast<std::size_t>(v) * selected_],
                 selected_);
  }
}

void InstanceFormatter::format(Batch& batch) const {
  std::size_t const n = batch.count;
  batch.descriptions.resize(n);
  table_.decode(batch.keys.data(), n, batch.decoded);
  auto const& rows = batch.decoded.rows;
  backend_.describe(rows.data(), n, batch.descriptions.data());
  batch.severity_sum = 0.0;
  batch.severity_max = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    auto const& d = batch.descriptions[i];
    if (d.pair_variant < 0) fail_without_pair(&rows[i * attributes_]);
    batch.severity_sum += static_cast<double>(d.severity);
    batch.severity_max = std::max(batch.severity_max, static_cast<double>(d.severity));
  }
  put_records(batch);
  if (format_ == OutputFormat::kCsv) format_csv(batch);
  if (format_ == OutputFormat::kNpy) put_table(batch);
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
    std::memcpy(to, &batch.decoded.rows[i * attributes_], row_bytes);
    to += row_bytes;
    std::memcpy(to, &batch.descriptions[i].pair_variant, sizeof(std::int32_t));
    to += sizeof(std::int32_t);
    std::memcpy(to, &batch.finders[i], sizeof(std::uint64_t));
    to += sizeof(std::uint64_t);
  }
}

void InstanceFormatter::format_csv(Batch& batch) const {
  // Longest line: every cell a number.
  std::size_t const longest = (attributes_ + selected_ + 7) * kNumberRoom;
  std::size_t used = 0;
  batch.text.resize(std::max(batch.text.capacity(), longest));
  auto const& decoded = batch.decoded;
  for (std::size_t i = 0; i < batch.count; ++i) {
    if (batch.text.size() - used < longest) batch.text.resize(batch.text.size() * 2);
    char* to = batch.text.data() + used;
    auto const copy = [&](std::string_view text) {
      std::memcpy(to, text.data(), text.size());
      to += text.size();
    };
    copy(decoded.heads[decoded.head[i]]);
    copy(table_.tail_text(decoded.tail[i]));
    auto const& d = batch.descriptions[i];
    copy(pair_text_[static_cast<std::size_t>(d.pair_variant)]);
    std::uint64_t const finder = batch.finders[i];
    to = put(to, d.label);
    *to++ = ',';
    to = put(to, d.pair_label);
    *to++ = ',';
    to = put(to, d.score);
    *to++ = ',';
    to = put(to, d.pair_score);
    *to++ = ',';
    copy(kFinderPhases[finder_phase(finder)]);
    *to++ = ',';
    to = put(to, Finder::seed(finder));
    *to++ = ',';
    to = put(to, Finder::iteration(finder));
    *to++ = '\n';
    used = static_cast<std::size_t>(to - batch.text.data());
  }
  batch.text.resize(used);
}

void InstanceFormatter::put_table(Batch& batch) const {
  batch.table.clear();
  batch.scores.clear();
  for (std::size_t i = 0; i < batch.count; ++i) {
    auto const& d = batch.descriptions[i];
    auto const row = batch.decoded.rows.begin() + static_cast<std::ptrdiff_t>(i * attributes_);
    batch.table.insert(batch.table.end(), row, row + static_cast<std::ptrdiff_t>(attributes_));
    auto const pair =
        pair_values_.begin() +
        static_cast<std::ptrdiff_t>(static_cast<std::size_t>(d.pair_variant) * selected_);
    batch.table.insert(batch.table.end(), pair, pair + static_cast<std::ptrdiff_t>(selected_));
    std::uint64_t const finder = batch.finders[i];
    for (std::int32_t const value :
         {d.label, d.pair_label, static_cast<std::int32_t>(finder_phase(finder)),
          static_cast<std::int32_t>(Finder::seed(finder)),
          static_cast<std::int32_t>(Finder::iteration(finder))}) {
      batch.table.push_back(value);
    }
    batch.scores.push_back(d.score);
    batch.scores.push_back(d.pair_score);
  }
}

template <class T>
void write_values(FileWriter& file, std::vector<T> const& values) {
  file.write(reinterpret_cast<char const*>(values.data()), values.size() * sizeof(T));
}

std::vector<std::string> table_columns(TestSubject const& subject) {
  auto columns = instance_columns(subject);
  // score and pair_score, behind which are phase, seed and iteration; an attribute of these names
  // stays.
  columns.erase(columns.end() - 5, columns.end() - 3);
  return columns;
}

/// The files of one format.
class InstanceFiles {
 public:
  InstanceFiles(RunConfig const& config, TestSubject const& subject, std::int64_t count,
                OutputDir& out) {
    if (config.output.format == OutputFormat::kCsv) {
      csv_ = std::make_unique<FileWriter>(out.partial("instances.csv"));
      std::string header;
      for (auto const& column : instance_columns(subject))
        header += (header.empty() ? "" : ",") + csv_cell(column);
      header += '\n';
      csv_->write(header.data(), header.size());
    }
    if (config.output.format == OutputFormat::kNpy) {
      Json names;
      names["instances"] = table_columns(subject);
      names["phase"] = kFinderPhases;
      names["scores"] = {"score", "pair_score"};
      out.write("instances.columns.json", names.dump(2) + "\n");
      table_ = std::make_unique<FileWriter>(out.partial("instances.npy"));
      scores_ = std::make_unique<FileWriter>(out.partial("scores.npy"));
      auto const header =
          npy_header("<i4", count, static_cast<std::int64_t>(table_columns(subject).size()));
      table_->write(header.data(), header.size());
      auto const scores_header = npy_header("<f4", count, 2);
      scores_->write(scores_header.data(), scores_header.size());
    }
  }

  void write(Batch const& batch) {
    if (csv_) csv_->write(batch.text.data(), batch.text.size());
    if (table_) write_values(*table_, batch.table);
    if (scores_) write_values(*scores_, batch.scores);
  }
  void close() {
    for (auto* file : {&csv_, &table_, &scores_}) {
      if (*file) (*file)->close();
    }
  }

 private:
  std::unique_ptr<FileWriter> csv_;
  std::unique_ptr<FileWriter> table_;
  std::unique_ptr<FileWriter> scores_;
};

}  // namespace

std::vector<std::string> instance_columns(TestSubject const& subject) {
  return instance_columns(subject.domain(), subject.selected());
}

std::vector<std::string> instance_columns(Domain const& domain,
                                          std::span<std::int32_t const> selected) {
  std::vector<std::string> columns;
  auto const& attributes = domain.attributes;
  for (auto const& attribute : attributes) columns.push_back(attribute.name);
  for (std::int32_t const a : selected) {
    columns.push_back("pair_" + attributes[static_cast<std::size_t>(a)].name);
  }
  for (char const* name :
       {"label", "pair_label", "score", "pair_score", "phase", "seed", "iteration"}) {
    columns.emplace_back(name);
  }
  return columns;
}

InstanceTotals write_instances(RunConfig const& config, TestSubject const& subject,
                               Findings const& findings, Backend& backend, OutputDir& out) {
  InstanceTotals totals;
  std::int64_t const count = findings.counts().unique_instances;
  InstanceFormatter const formatter(config, subject, findings, backend);
  InstanceFiles files(config, subject, count, out);
  Sha256 hash;
  double severity_sum = 0.0;
  auto const sink = [&](Batch& batch) {
    files.write(batch);
    hash.update(batch.records.data(), batch.records.size());
    severity_sum += batch.severity_sum;  // in the order of the instances, whoever computed it
    totals.severity_max = std::max(totals.severity_max, batch.severity_max);
  };
  OrderedPipeline<Batch> pipeline(
      backend.concurrency(), [&](Batch& batch) { formatter.format(batch); }, sink);
  auto const words = static_cast<std::size_t>(findings.codec().words());
  findings.for_each_key(
      [&](std::uint64_t const* keys, std::uint64_t const* finders, std::size_t n) {
        Batch& batch = pipeline.slot();
        batch.count = n;
        batch.keys.assign(keys, keys + n * words);
        batch.finders.assign(finders, finders + n);
        pipeline.submit();
      });
  pipeline.drain();
  files.close();
  totals.signature = hash.finish();
  totals.severity_mean = count > 0 ? severity_sum / static_cast<double>(count) : 0.0;
  return totals;
}

}  // namespace fairlane
