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
#include "engine/tables/npy.h"
#include "kernels/visits.h"

namespace fairlane {
namespace {

constexpr std::size_t kBlockBytes = 1U << 20;
constexpr std::size_t kBlockRows = 1U << 14;
constexpr std::int64_t kFirstLine = 2;  // of a CSV; the header is the first one

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

InstanceFile::InstanceFile(std::string dir, OutputFormat format, InstanceColumns columns)
    : dir_(std::move(dir)), format_(format), columns_(std::move(columns)) {
  if (format_ == OutputFormat::kNone) return;
  files_ = read_instance_files(dir_, format_);
  open();
}

bool InstanceFile::open() {
  if (at_ == files_.size()) return false;
  std::error_code ec;
  if (!std::filesystem::exists(path(), ec) && !ec) {
    if (!files_[at_].sha256.empty())
      throw Error(ExitCode::kIntegrity, fmt::format("{}: no such file, expected what {} lists",
                                                    shown(path()), kInstanceIndex));
    throw Error(ExitCode::kNoInput, fmt::format("{}: no such file; `run` writes instances, "
                                                "`enumerate` with --instances all or N, no other "
                                                "command",
                                                shown(path())));
  }
  if (format_ == OutputFormat::kParquet) {
    open_parquet();
    return true;
  }
  file_ = open_input(path());
  if (format_ == OutputFormat::kCsv) open_csv();
  if (format_ == OutputFormat::kNpy) open_npy();
  return true;
}

std::size_t InstanceFile::read(char* to, std::size_t size) const {
  std::size_t const got = std::fread(to, 1, size, file_.get());
  if (std::ferror(file_.get()) != 0) {
    throw Error(ExitCode::kNoInput,
                fmt::format("{}: cannot be read: {}", shown(path()), std::strerror(errno)));
  }
  return got;
}

void InstanceFile::open_csv() {
  std::string const expected = columns_.csv_header();
  std::string header(expected.size(), '\0');
  header.resize(read(header.data(), header.size()));
  if (header != expected) {
    throw Error(ExitCode::kData,
                fmt::format("{}:1: the header is not that of this run's columns, expected {}",
                            shown(path()), in_quotes(expected, 400)));
  }
  number_ = kFirstLine;
}

void InstanceFile::open_npy() {
  std::string bytes(kNpyPrefix, '\0');
  bytes.resize(read(bytes.data(), bytes.size()));
  std::size_t const length = npy_header_bytes(bytes, path());
  std::size_t const had = bytes.size();
  bytes.resize(length);
  if (length > had) bytes.resize(had + read(bytes.data() + had, length - had));
  NpyHeader const header = parse_npy_header(bytes, columns_.fields(), path());
  std::fseek(file_.get(), 0, SEEK_END);
  auto const size = static_cast<std::int64_t>(std::ftell(file_.get()));
  std::fseek(file_.get(), static_cast<long>(header.bytes), SEEK_SET);
  auto const row = static_cast<std::int64_t>(npy_row_bytes(header.fields));
  bool const fits = header.rows >= 0 && header.rows <= size &&
                    size == static_cast<std::int64_t>(header.bytes) + header.rows * row;
  bool const same_numbers = std::ranges::equal(
      header.fields, columns_.fields(), [](NpyField const& a, NpyField const& b) {
        return (a.type == NpyType::kF4) == (b.type == NpyType::kF4);
      });
  if (!fits || !same_numbers) {
    throw Error(ExitCode::kData,
                fmt::format("{}: its size or its columns are not those of this run's instances",
                            shown(path())));
  }
  fields_ = header.fields;
  rows_ = header.rows;
  number_ = 0;
}

void InstanceFile::open_parquet() {
  fields_ = columns_.fields();
  parquet_ = std::make_unique<ParquetReader>(path(), fields_);
  rows_ = parquet_->rows();
  number_ = 0;
}

bool InstanceFile::next(InstanceBlock& block) {
  if (format_ == OutputFormat::kNone) return false;
  while (!(format_ == OutputFormat::kCsv ? next_lines(block) : next_rows(block))) {
    read_rows_.push_back(format_ == OutputFormat::kCsv ? number_ - kFirstLine : rows_);
    ++at_;
    if (!open()) return false;
  }
  return true;
}

void InstanceFile::require_listed_rows() const {
  for (std::size_t i = 0; i < read_rows_.size(); ++i) {
    std::int64_t const listed = files_[i].rows;
    if (listed < 0 || read_rows_[i] == listed) continue;
    throw Error(ExitCode::kIntegrity,
                fmt::format("{}: has {} rows, expected {} as {} lists", shown(path(i)),
                            read_rows_[i], listed, kInstanceIndex));
  }
}

bool InstanceFile::next_lines(InstanceBlock& block) {
  block.bytes = std::move(rest_);
  rest_.clear();
  std::size_t const before = block.bytes.size();
  block.bytes.resize(before + kBlockBytes);
  std::size_t const got = read(block.bytes.data() + before, kBlockBytes);
  block.bytes.resize(before + got);
  if (block.bytes.empty()) return false;
  if (got == kBlockBytes) {
    auto const newline = block.bytes.rfind('\n');
    std::size_t const whole = newline == std::string::npos ? 0 : newline + 1;
    rest_ = block.bytes.substr(whole);
    block.bytes.resize(whole);
  }
  block.first = static_cast<std::int64_t>(at_) << kLineBits | number_;
  number_ += std::count(block.bytes.begin(), block.bytes.end(), '\n');
  return true;
}

bool InstanceFile::next_rows(InstanceBlock& block) {
  if (number_ == rows_) return false;
  auto const n = std::min<std::size_t>(kBlockRows, static_cast<std::size_t>(rows_ - number_));
  block.fields = fields_;
  block.bytes.resize(n * npy_row_bytes(fields_));
  auto const wanted = static_cast<std::int64_t>(n);
  std::int64_t got = 0;
  if (parquet_) {
    std::size_t const width = npy_row_bytes(fields_);
    std::int64_t more = 0;
    do {
      more =
          parquet_->read(block.bytes.data() + static_cast<std::size_t>(got) * width, wanted - got);
      got += more;
    } while (more > 0 && got < wanted);
  } else if (read(block.bytes.data(), block.bytes.size()) == block.bytes.size()) {
    got = wanted;
  }
  if (got != wanted)
    throw Error(ExitCode::kIntegrity, fmt::format("{}: changed while it was read", shown(path())));
  block.first = static_cast<std::int64_t>(at_) << kLineBits | number_;
  number_ += static_cast<std::int64_t>(n);
  return true;
}

std::string InstanceFile::place(std::int64_t number) const {
  std::string const file =
      shown(dir_) + "/" + files_[static_cast<std::size_t>(number >> kLineBits)].name;
  std::int64_t const line = number & ((std::int64_t{1} << kLineBits) - 1);
  return format_ == OutputFormat::kCsv ? fmt::format("{}:{}", file, line)
                                       : fmt::format("{}: row {}", file, line);
}

char const* InstanceFile::parse_line(char const* at, char const* end,
                                     std::vector<std::int32_t>& cells,
                                     InstanceRecord& record) const {
  std::size_t left = columns_.all().size();
  auto const take = [&](auto& value) {
    return take_number(at, end, --left == 0 ? '\0' : ',', value);
  };
  for (std::int32_t& cell : cells) {
    if (!take(cell)) return "an attribute or a pair value is no integer, or cells are missing";
  }
  record.row = cells.data();
  if (columns_.has_labels()) {
    record.pair = cells.data() + columns_.attributes();
    if (!take(record.label) || !take(record.pair_label)) return "a label is no integer";
  }
  if (columns_.has_scores()) {
    if (!take(record.score) || !take(record.pair_score)) return "a score is no number";
    std::string_view const rest(at, static_cast<std::size_t>(end - at));
    std::string_view const name = rest.substr(0, rest.find(','));
    auto const phase = std::find(kFinderPhases.begin(), kFinderPhases.end(), name);
    if (phase == kFinderPhases.end()) return "the phase is none of global, local and walk";
    at += std::min(name.size() + 1, rest.size());
    --left;
    std::uint32_t seed = 0;
    std::uint32_t iteration = 0;
    if (!take(seed) || !take(iteration) || iteration >> Finder::kIterationBits != 0)
      return "seed or iteration is no integer, or cells follow";
    char const* const problem = finder_of(static_cast<std::size_t>(phase - kFinderPhases.begin()),
                                          seed, iteration, record.finder);
    if (problem != nullptr) return problem;
  }
  if (columns_.has_votes() && (!take(record.voted_label) || !take(record.vote)))
    return "a vote is no number, or cells follow";
  return nullptr;
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
  std::vector<std::int32_t> cells(columns_.attributes() + columns_.selected());
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

namespace {

/// A value of an array, behind which it goes on.
template <class T>
T next_value(char const*& at) {
  T value{};
  std::memcpy(&value, at, sizeof(value));
  at += sizeof(value);
  return value;
}
std::int64_t next_integer(NpyType type, char const*& at) {
  switch (type) {
    case NpyType::kU1:
      return next_value<std::uint8_t>(at);
    case NpyType::kI1:
      return next_value<std::int8_t>(at);
    case NpyType::kU2:
      return next_value<std::uint16_t>(at);
    case NpyType::kI2:
      return next_value<std::int16_t>(at);
    case NpyType::kU4:
      return next_value<std::uint32_t>(at);
    default:
      return next_value<std::int32_t>(at);
  }
}

}  // namespace

void InstanceFile::parse_rows(InstanceBlock const& block, Take const& take,
                              Fail const& fail) const {
  std::size_t const width = npy_row_bytes(block.fields);
  std::vector<std::int32_t> cells(columns_.attributes() + columns_.selected());
  std::int64_t number = block.first;
  for (std::size_t begin = 0; begin < block.bytes.size(); begin += width, ++number) {
    char const* at = block.bytes.data() + begin;
    std::size_t column = 0;
    auto const integer = [&] { return next_integer(block.fields[column++].type, at); };
    auto const real = [&] {
      ++column;
      return next_value<float>(at);
    };
    for (auto& cell : cells) cell = static_cast<std::int32_t>(integer());
    InstanceRecord record;
    record.row = cells.data();
    if (columns_.has_labels()) {
      record.pair = cells.data() + columns_.attributes();
      record.label = static_cast<std::int32_t>(integer());
      record.pair_label = static_cast<std::int32_t>(integer());
    }
    if (columns_.has_scores()) {
      record.score = real();
      record.pair_score = real();
      auto const phase = static_cast<std::size_t>(integer());
      auto const seed = static_cast<std::uint32_t>(integer());
      std::int64_t const iteration = integer();
      if (phase >= kFinderPhases.size() || iteration >> Finder::kIterationBits != 0) {
        fail(number, "phase, seed or iteration is out of range");
        continue;
      }
      char const* const problem =
          finder_of(phase, seed, static_cast<std::uint32_t>(iteration), record.finder);
      if (problem != nullptr) {
        fail(number, problem);
        continue;
      }
    }
    if (columns_.has_votes()) {
      record.voted_label = static_cast<std::int32_t>(integer());
      record.vote = real();
    }
    take(number, record);
  }
}

}  // namespace fairlane
