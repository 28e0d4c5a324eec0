#include "engine/results/instance_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/formats/json.h"
#include "base/sha256.h"
#include "base/text.h"
#include "engine/tables/parquet.h"

namespace fairlane {
namespace {

constexpr std::size_t kLongestIndex = std::size_t{1} << 28;
constexpr std::size_t kLongestPath = 4096;
constexpr std::int64_t kMostWords = 4096;  // of a column: more codes are hardly categories

struct KindName {
  ColumnKind kind;
  char const* name;
};
constexpr KindName kKinds[] = {
    {ColumnKind::kAttribute, "attribute"}, {ColumnKind::kPair, "pair"},
    {ColumnKind::kLabel, "label"},         {ColumnKind::kPairLabel, "pair_label"},
    {ColumnKind::kScore, "score"},         {ColumnKind::kPairScore, "pair_score"},
    {ColumnKind::kPhase, "phase"},         {ColumnKind::kSeed, "seed"},
    {ColumnKind::kIteration, "iteration"}, {ColumnKind::kVotedLabel, "voted_label"},
    {ColumnKind::kVote, "vote"},
};

/// Words of an attribute's codes; empty where they are plain numbers.
Json words_of(Attribute const& attribute) {
  Json words = Json::object();
  if (attribute.code_count() > kMostWords) return words;
  for (std::int64_t i = 0; i < attribute.code_count(); ++i) {
    std::int32_t const code = attribute.code_at(i);
    std::string const number = std::to_string(code);
    std::string const word = attribute.word(code);
    if (word != number) words[number] = word;
  }
  return words;
}

}  // namespace

void require_format(RunConfig const& config) {
  OutputConfig const& output = config.output;
  /// A key that asks for more of each finding.
  struct Wish {
    char const* key;
    bool is_wished;
    char const* otherwise;   // its value where nothing is asked for
    char const* from_table;  // what `data` is needed for, or null
  };
  Wish const wishes[] = {
      {"output.words", output.words, "false", nullptr},
      {"output.plausibility", output.plausibility, "false",
       "the table beside which findings are plausible or not"},
      {"output.vote", output.vote.has_value(), "null", "the table that voters learn from"}};
  for (Wish const& wish : wishes) {
    if (!wish.is_wished) continue;
    if (output.format == OutputFormat::kNone) {
      throw Error(ExitCode::kConfig,
                  fmt::format("{0}: is set, and output.format is none, which writes no findings; "
                              "expected output.format csv, npy or parquet, or {0} {1}",
                              wish.key, wish.otherwise));
    }
    if (wish.from_table != nullptr && config.data.empty()) {
      throw Error(ExitCode::kConfig,
                  fmt::format("{}: is set, but {} names no `data`, expected {}", wish.key,
                              escaped(config.source, kLongestPath), wish.from_table));
    }
  }
  if (output.format == OutputFormat::kParquet) static_cast<void>(parquet_plugin());
}

std::string instance_file_name(OutputFormat format, std::optional<std::int64_t> shard_rows,
                               std::int64_t i) {
  std::string const number = shard_rows ? fmt::format("-{:05}", i) : "";
  return fmt::format("instances{}.{}", number, name_of(format));
}

std::string instance_index_json(RunConfig const& config, TestSubject const& subject,
                                InstanceColumns const& columns, Electorate const* voters,
                                std::vector<InstanceFileFacts> const& files) {
  Domain const& domain = subject.domain();
  Json json;
  json["format"] = name_of(config.output.format);
  json["columns"] = Json::array();
  for (std::size_t c = 0; c < columns.all().size(); ++c) {
    InstanceColumn const& column = columns.all()[c];
    Json one = {{"name", columns.fields()[c].name},
                {"holds", std::ranges::find(kKinds, column.kind, &KindName::kind)->name},
                {"type", npy_type(column.type).code}};
    Attribute const* attribute = nullptr;
    if (column.kind == ColumnKind::kAttribute) attribute = &domain.attributes[column.place];
    if (column.kind == ColumnKind::kPair) {
      auto const a = static_cast<std::size_t>(subject.selected()[column.place]);
      attribute = &domain.attributes[a];
    }
    if (attribute != nullptr) {
      one["attribute"] = attribute->name;
      one["low"] = attribute->low.value();
      one["high"] = attribute->high.value();
      if (Json words = words_of(*attribute); !words.empty()) one["words"] = std::move(words);
    }
    bool const is_label = column.kind == ColumnKind::kLabel ||
                          column.kind == ColumnKind::kPairLabel ||
                          column.kind == ColumnKind::kVotedLabel;
    if (is_label) {
      for (std::int32_t label = 0; label < std::max(2, subject.model().outputs()); ++label) {
        std::string const number = std::to_string(label);
        if (std::string const word = domain.label_word(label); word != number)
          one["words"][number] = word;
      }
    }
    if (column.kind == ColumnKind::kPhase) {
      for (std::size_t i = 0; i < kFinderPhases.size(); ++i)
        one["words"][std::to_string(i)] = kFinderPhases[i];
    }
    json["columns"].push_back(std::move(one));
  }
  if (voters != nullptr) json["voters"] = voters_json(voters->members());
  json["files"] = Json::array();
  std::int64_t rows = 0;
  for (InstanceFileFacts const& file : files) {
    rows += file.rows;
    json["files"].push_back({{"name", file.name}, {"rows", file.rows}, {"sha256", file.sha256}});
  }
  json["rows"] = rows;
  return json.dump(2) + "\n";
}

std::vector<InstanceFileFacts> read_instance_files(std::string const& dir, OutputFormat format) {
  std::string const path = dir + "/" + kInstanceIndex;
  std::error_code ec;
  std::string const only = instance_file_name(format, std::nullopt, 0);
  if (!std::filesystem::exists(path, ec) && !ec) return {{only, -1, ""}};
  std::string const text = read_file(path, kLongestIndex);
  auto const bad = [&](std::string const& what) {
    return Error(ExitCode::kData, fmt::format("{}: is no list of instances as this program writes "
                                              "it: {}",
                                              escaped(path, kLongestPath), escaped(what)));
  };
  std::vector<InstanceFileFacts> files;
  try {
    Json const json = Json::parse(text);
    for (Json const& file : json.at("files")) {
      files.push_back({file.at("name").get<std::string>(), file.at("rows").get<std::int64_t>(),
                       file.at("sha256").get<std::string>()});
      auto const i = static_cast<std::int64_t>(files.size()) - 1;
      std::string const& name = files.back().name;
      // Never a path: what a list names is opened.
      if (name != only && name != instance_file_name(format, 1, i))
        throw bad(fmt::format("a file is {}, expected {}", in_quotes(name),
                              instance_file_name(format, 1, i)));
      if (files.back().rows < 0) throw bad(name + " has a negative number of rows");
    }
  } catch (JsonError const& error) {
    throw bad(error.what());
  }
  return files;
}

void require_instance_index(std::string const& dir) {
  std::error_code ec;
  std::string const path = dir + "/" + kInstanceIndex;
  bool const is_finished = std::filesystem::exists(dir + "/DONE", ec);
  if (!is_finished || std::filesystem::exists(path, ec) || ec) return;
  throw Error(ExitCode::kIntegrity,
              fmt::format("{}: no such file, expected the list of the instances that were written, "
                          "as {}/manifest.json says",
                          escaped(path, kLongestPath), escaped(dir, kLongestPath)));
}

/// A file on its way.
class InstanceWriter::File {
 public:
  virtual ~File() = default;
  virtual void write(std::string const& bytes, std::int64_t rows) = 0;
  /// Its digest.
  virtual std::string close() = 0;
};

namespace {

/// A file that begins with a header.
class PlainFile final : public InstanceWriter::File {
 public:
  PlainFile(std::string const& path, std::string const& header) : file_(path) { write(header, 0); }
  void write(std::string const& bytes, std::int64_t /*rows*/) override {
    hash_.update(bytes.data(), bytes.size());
    file_.write(bytes.data(), bytes.size());
  }
  std::string close() override {
    file_.close();
    return hash_.finish();
  }

 private:
  FileWriter file_;
  Sha256 hash_;
};

class ParquetFile final : public InstanceWriter::File {
 public:
  ParquetFile(std::string path, std::vector<NpyField> const& fields, bool zstd)
      : path_(std::move(path)), file_(path_, fields, zstd) {}
  void write(std::string const& bytes, std::int64_t rows) override {
    file_.write(bytes.data(), rows);
  }
  std::string close() override {
    file_.close();
    return sha256_file(path_);
  }

 private:
  std::string path_;
  ParquetWriter file_;
};

}  // namespace

InstanceWriter::InstanceWriter(RunConfig const& config, InstanceColumns const& columns,
                               std::int64_t rows, OutputDir& out)
    : output_(config.output), columns_(columns), out_(out), left_(rows) {
  if (output_.format != OutputFormat::kNone) {
    open();
  } else {
    room_ = rows;
  }
}

InstanceWriter::~InstanceWriter() = default;

void InstanceWriter::open() {
  room_ = output_.shard_rows ? std::min(*output_.shard_rows, left_) : left_;
  std::string const name = instance_file_name(output_.format, output_.shard_rows,
                                              static_cast<std::int64_t>(files_.size()));
  files_.push_back({name, room_, ""});
  std::string const path = out_.partial(name);
  switch (output_.format) {
    case OutputFormat::kCsv:
      file_ = std::make_unique<PlainFile>(path, columns_.csv_header());
      return;
    case OutputFormat::kNpy:
      file_ = std::make_unique<PlainFile>(path, npy_header(columns_.fields(), room_));
      return;
    case OutputFormat::kParquet:
      file_ = std::make_unique<ParquetFile>(path, columns_.fields(), output_.zstd);
      return;
    case OutputFormat::kNone:
      return;
  }
}

void InstanceWriter::close() {
  files_.back().sha256 = file_->close();
  file_.reset();
}

void InstanceWriter::write(std::string const& bytes, std::int64_t rows) {
  if (file_) file_->write(bytes, rows);
  room_ -= rows;
  left_ -= rows;
  if (room_ > 0 || left_ == 0 || !file_) return;
  close();
  open();
}

std::vector<InstanceFileFacts> const& InstanceWriter::finish() {
  if (file_) close();
  return files_;
}

}  // namespace fairlane
