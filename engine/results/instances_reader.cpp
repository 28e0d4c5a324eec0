#include "engine/results/instances_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <type_traits>

#include "base/error.h"
#include "base/text.h"
#include "engine/results/instances.h"
#include "engine/results/npy.h"
#include "kernels/visits.h"

namespace fairlane {
namespace {

constexpr std::size_t kBlockBytes = 1U << 20;
constexpr std::size_t kBlockRows = 1U << 14;
constexpr std::size_t kAfterPair =
    7;  // label, pair_label, score, pair_score, phase, seed, iteration
constexpr std::size_t kTableAfterPair = 5;
constexpr std::size_t kScores = 2;

std::string shown(std::string const& path) { return escaped(path, 4096); }

// Reads a number and the character behind it; integers as this program writes them, without zeros
// in front.
template <class T>
bool take_number(char const*& at, char const* end, char after, T& value) {
  auto const [stop, error] = std::from_chars(at, end, value);
  if (error != std::errc()) return false;
  if constexpr (std::is_integral_v<T>) {
    char const* const digits = *at == '-' ? at + 1 : at;
    if (*digits == '0' && stop != digits + 1) return false;
    if (digits != at && *digits == '0') return false;
  }
  if (after == '\0') {
    at = stop;
    return stop == end;
  }
  if (stop == end || *stop != after) return false;
  at = stop + 1;
  return true;
}

// Packs a finder; error text where there is no such one.
char const* finder_of(std::size_t phase, std::uint32_t seed, std::uint32_t iteration,
                      std::uint64_t& finder) {
  finder = Finder::pack(phase == 1 ? Phase::kLocal : Phase::kGlobal, seed, iteration);
  return finder_phase(finder) == phase ? nullptr
                                       : "phase, seed and iteration contradict each other";
}

}  // namespace

InstanceFile::InstanceFile(std::string const& dir, OutputFormat format,
                           std::vector<std::string> columns, std::size_t attributes)
    : dir_(dir),
      format_(format),
      attributes_(attributes),
      columns_(columns.size()),
      selected_(columns.size() - attributes - kAfterPair) {
  if (format_ == OutputFormat::kCsv) open_csv(columns);
  if (format_ == OutputFormat::kNpy) open_npy();
}

InputFile InstanceFile::open(std::string const& path) {
  std::error_code ec;
  if (std::filesystem::exists(path, ec) || ec) return open_input(path);
  throw Error(ExitCode::kNoInput, fmt::format("{}: no such file; `run` writes instances, "
                                              "`enumerate` with --instances, no other command",
                                              shown(path)));
}

std::size_t InstanceFile::read(InputFile const& file, std::string const& path, char* to,
                               std::size_t size) const {
  std::size_t const got = std::fread(to, 1, size, file.get());
  if (std::ferror(file.get()) != 0) {
    throw Error(ExitCode::kNoInput,
                fmt::format("{}: cannot be read: {}", shown(path), std::strerror(errno)));
  }
  return got;
}

void InstanceFile::open_csv(std::vector<std::string> const& columns) {
  std::string const path = dir_ + "/instances.csv";
  file_ = open(path);
  std::string expected;
  for (auto const& column : columns) expected += (expected.empty() ? "" : ",") + csv_cell(column);
  expected += '\n';
  std::string header(expected.size(), '\0');
  header.resize(read(file_, path, header.data(), header.size()));
  if (header != expected) {
    throw Error(ExitCode::kData,
                fmt::format("{}:1: the header is not that of this run's columns, expected {}",
                            shown(path), in_quotes(expected, 400)));
  }
  number_ = 2;
}

void InstanceFile::open_npy() {
  auto const header_of = [&](InputFile const& file, std::string const& path,
                             std::string const& type, std::size_t columns) {
    constexpr std::size_t kMost = 1U << 12;
    std::string bytes(kMost, '\0');
    bytes.resize(read(file, path, bytes.data(), bytes.size()));
    auto const header = parse_npy_header(bytes, path);
    std::fseek(file.get(), 0, SEEK_END);
    auto const size = static_cast<std::int64_t>(std::ftell(file.get()));
    std::fseek(file.get(), static_cast<long>(header.bytes), SEEK_SET);
    constexpr std::int64_t kItem = 4;
    bool const fits =
        header.rows >= 0 && header.rows <= size &&
        size == static_cast<std::int64_t>(header.bytes) + header.rows * header.columns * kItem;
    if (header.type != type || header.columns != static_cast<std::int64_t>(columns) || !fits) {
      throw Error(
          ExitCode::kData,
          fmt::format("{}: is {} [{}][{}] in {} bytes, expected {} with {} columns", shown(path),
                      header.type, header.rows, header.columns, size, type, columns));
    }
    return header.rows;
  };
  std::string const path = dir_ + "/instances.npy";
  std::string const scores_path = dir_ + "/scores.npy";
  file_ = open(path);
  scores_ = open(scores_path);
  rows_ = header_of(file_, path, "<i4", attributes_ + selected_ + kTableAfterPair);
  std::int64_t const scores = header_of(scores_, scores_path, "<f4", kScores);
  if (scores != rows_) {
    throw Error(ExitCode::kData, fmt::format("{}: has {} rows, expected {} as in instances.npy",
                                             shown(scores_path), scores, rows_));
  }
}

bool InstanceFile::next(InstanceBlock& block) {
  if (format_ == OutputFormat::kCsv) return next_lines(block);
  if (format_ == OutputFormat::kNpy) return next_rows(block);
  return false;
}

bool InstanceFile::next_lines(InstanceBlock& block) {
  block.bytes = std::move(rest_);
  rest_.clear();
  std::size_t const before = block.bytes.size();
  block.bytes.resize(before + kBlockBytes);
  std::size_t const got =
      read(file_, dir_ + "/instances.csv", block.bytes.data() + before, kBlockBytes);
  block.bytes.resize(before + got);
  if (block.bytes.empty()) return false;
  if (got == kBlockBytes) {
    auto const newline = block.bytes.rfind('\n');
    std::size_t const whole = newline == std::string::npos ? 0 : newline + 1;
    rest_ = block.bytes.substr(whole);
    block.bytes.resize(whole);
  }
  block.first = number_;
  number_ += std::count(block.bytes.begin(), block.bytes.end(), '\n');
  return true;
}

bool InstanceFile::next_rows(InstanceBlock& block) {
  if (number_ == rows_) return false;
  auto const n = std::min<std::size_t>(kBlockRows, static_cast<std::size_t>(rows_ - number_));
  block.bytes.resize(n * (attributes_ + selected_ + kTableAfterPair) * sizeof(std::int32_t));
  block.scores.resize(n * kScores * sizeof(float));
  bool const whole = read(file_, dir_ + "/instances.npy", block.bytes.data(), block.bytes.size()) ==
                         block.bytes.size() &&
                     read(scores_, dir_ + "/scores.npy", block.scores.data(),
                          block.scores.size()) == block.scores.size();
  if (!whole)
    throw Error(ExitCode::kIntegrity, fmt::format("{}: changed while it was read", shown(dir_)));
  block.first = number_;
  number_ += static_cast<std::int64_t>(n);
  return true;
}

std::string InstanceFile::place(std::int64_t number) const {
  return format_ == OutputFormat::kCsv
             ? fmt::format("{}/instances.csv:{}", shown(dir_), number)
             : fmt::format("{}/instances.npy: row {}", shown(dir_), number);
}

char const* InstanceFile::parse_line(char const* at, char const* end,
                                     std::vector<std::int32_t>& cells,
                                     InstanceRecord& record) const {
  for (auto& cell : cells) {
    if (!take_number(at, end, ',', cell))
      return "an attribute or a pair value is no integer, or cells are missing";
  }
  record.row = cells.data();
  record.pair = cells.data() + attributes_;
  if (!take_number(at, end, ',', record.label) || !take_number(at, end, ',', record.pair_label)) {
    return "a label is no integer";
  }
  if (!take_number(at, end, ',', record.score) || !take_number(at, end, ',', record.pair_score)) {
    return "a score is no number";
  }
  std::string_view const rest(at, static_cast<std::size_t>(end - at));
  std::string_view const name = rest.substr(0, rest.find(','));
  auto const phase = std::find(kFinderPhases.begin(), kFinderPhases.end(), name);
  if (phase == kFinderPhases.end()) return "the phase is none of global, local and walk";
  at += std::min(name.size() + 1, rest.size());
  std::uint32_t seed = 0;
  std::uint32_t iteration = 0;
  if (!take_number(at, end, ',', seed) || !take_number(at, end, '\0', iteration) ||
      iteration >> Finder::kIterationBits != 0) {
    return "seed or iteration is no integer, or cells follow";
  }
  return finder_of(static_cast<std::size_t>(phase - kFinderPhases.begin()), seed, iteration,
                   record.finder);
}

void InstanceFile::parse(InstanceBlock const& block, Take const& take, Fail const& fail) const {
  if (format_ == OutputFormat::kCsv) {
    parse_lines(block, take, fail);
  } else {
    parse_rows(block, take, fail);
  }
}

void InstanceFile::parse_lines(InstanceBlock const& block, Take const& take,
                               Fail const& fail) const {
  InstanceRecord record;
  std::vector<std::int32_t> cells(attributes_ + selected_);
  std::int64_t number = block.first;
  char const* at = block.bytes.data();
  char const* const end = at + block.bytes.size();
  for (; at != end; ++number) {
    auto const* newline =
        static_cast<char const*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
    if (newline == nullptr) {
      fail(number, "the last line has no end");
      return;
    }
    if (char const* problem = parse_line(at, newline, cells, record)) {
      fail(number, problem);
    } else {
      take(number, record);
    }
    at = newline + 1;
  }
}

void InstanceFile::parse_rows(InstanceBlock const& block, Take const& take,
                              Fail const& fail) const {
  std::size_t const width = attributes_ + selected_ + kTableAfterPair;
  std::vector<std::int32_t> cells(block.bytes.size() / sizeof(std::int32_t));
  std::memcpy(cells.data(), block.bytes.data(), cells.size() * sizeof(std::int32_t));
  std::vector<float> scores(block.scores.size() / sizeof(float));
  std::memcpy(scores.data(), block.scores.data(), scores.size() * sizeof(float));
  std::int64_t number = block.first;
  for (std::size_t i = 0; i < cells.size() / width; ++i, ++number) {
    std::int32_t const* row = cells.data() + i * width;
    std::int32_t const* after = row + attributes_ + selected_;
    auto const phase = static_cast<std::size_t>(after[2]);
    if (phase >= kFinderPhases.size() || after[3] < 0 || after[4] < 0) {
      fail(number, "phase, seed or iteration is out of range");
      continue;
    }
    std::uint64_t finder = 0;
    char const* const problem = finder_of(phase, static_cast<std::uint32_t>(after[3]),
                                          static_cast<std::uint32_t>(after[4]), finder);
    if (problem != nullptr) {
      fail(number, problem);
      continue;
    }
    take(number, {row, row + attributes_, after[0], after[1], scores[kScores * i],
                  scores[kScores * i + 1], finder});
  }
}

}  // namespace fairlane
