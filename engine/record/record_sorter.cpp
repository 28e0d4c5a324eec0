#include "engine/record/record_sorter.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <new>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/threads/thread_pool.h"

namespace fairlane {
namespace {

constexpr std::size_t kMaxFiles = 64;           // merged at once; more are merged in steps
constexpr std::size_t kReadBytes = 1U << 18;    // buffer of one file while merging
constexpr std::size_t kTakeRecords = 1U << 14;  // handed out at once while merging
constexpr std::size_t kSortCopies = 2;          // records and the copy that sorting needs

[[noreturn]] void fail_memory(std::size_t bytes) {
  throw Error(ExitCode::kMemory, fmt::format("out of memory: {} MiB for the findings; lower the "
                                             "memory limit, so that more of them go to disk",
                                             bytes >> 20));
}

/// Bits in which the first words of records differ.
std::uint64_t differing_bits(std::uint64_t const* records, std::size_t count, std::size_t stride) {
  std::uint64_t bits = 0;
  for (std::size_t i = 1; i < count; ++i) bits |= records[i * stride] ^ records[0];
  return bits;
}

template <std::size_t kStride>
void copy_record(std::uint64_t const* from, std::uint64_t* to) {
  for (std::size_t w = 0; w < kStride; ++w) to[w] = from[w];
}

/// Radix sort by those bits of the first word, from the lowest digit on; what else a record has
/// travels along. Returns where the sorted records are: in `records` or in `other`.
template <std::size_t kStride>
std::uint64_t* radix_sort(std::uint64_t* records, std::uint64_t* other, std::size_t count,
                          std::uint64_t used) {
  // Few counts for few records; eleven bits keep a pass within the first cache's lines and pages.
  int const digit_bits = count < (1U << 14) ? 8 : 11;
  std::vector<std::size_t> start(std::size_t{1} << digit_bits);
  std::uint64_t const mask = start.size() - 1;
  for (int shift = std::countr_zero(used); shift < 64; shift += digit_bits) {
    std::uint64_t const rest = used >> shift;
    if (rest == 0) break;
    if ((rest & mask) == 0) continue;
    std::ranges::fill(start, 0);
    for (std::size_t i = 0; i < count; ++i) ++start[(records[i * kStride] >> shift) & mask];
    std::size_t sum = 0;
    for (auto& s : start) sum += std::exchange(s, sum);
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t const* from = records + i * kStride;
      copy_record<kStride>(from, other + start[(*from >> shift) & mask]++ * kStride);
    }
    std::swap(records, other);
  }
  return records;
}

/// Moves records to where those of their digit go. Source: American flag sort (McIlroy, Bostic and
/// McIlroy, Engineering Radix Sort, 1993).
/// place  [digits] where a digit's next record goes
/// end    [digits] where its last one has gone
template <std::size_t kStride, class Digit>
void group_by_digit(std::uint64_t* records, std::vector<std::size_t>& place,
                    std::vector<std::size_t> const& end, Digit const& digit) {
  for (std::size_t d = 0; d < place.size(); ++d) {
    for (; place[d] < end[d]; ++place[d]) {
      std::uint64_t* const here = records + place[d] * kStride;
      for (std::size_t its = digit(*here); its != d; its = digit(*here))
        std::swap_ranges(here, here + kStride, records + place[its]++ * kStride);
    }
  }
}

/// Sorts by the first word: all by its highest digit, where they are, then the records of each
/// digit, which stay in the caches, by the others.
template <std::size_t kStride>
void split_sort(std::uint64_t* records, std::size_t count, int threads) {
  constexpr int kDigitBits = 11;
  constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;
  constexpr std::int64_t kDigitsAtOnce = 8;
  std::uint64_t const used = differing_bits(records, count, kStride);
  int const shift = std::max(0, static_cast<int>(std::bit_width(used)) - kDigitBits);
  auto const digit = [shift](std::uint64_t word) { return (word >> shift) & (kDigits - 1); };
  std::vector<std::size_t> end(kDigits);
  for (std::size_t i = 0; i < count; ++i) ++end[digit(records[i * kStride])];
  std::vector<std::size_t> first(kDigits + 1);
  for (std::size_t d = 0; d < kDigits; ++d) end[d] = first[d + 1] = first[d] + end[d];
  std::vector<std::size_t> place(first.begin(), first.end() - 1);
  group_by_digit<kStride>(records, place, end, digit);
  std::uint64_t const below = used & ((std::uint64_t{1} << shift) - 1);
  std::vector<std::vector<std::uint64_t>> spare(static_cast<std::size_t>(threads));
  ThreadPool pool;
  pool.share(threads, 0, static_cast<std::int64_t>(kDigits), kDigitsAtOnce,
             [&](int thread, std::int64_t begin, std::int64_t n) {
               auto& other = spare[static_cast<std::size_t>(thread)];
               for (auto d = static_cast<std::size_t>(begin);
                    d < static_cast<std::size_t>(begin + n); ++d) {
                 std::uint64_t* const mine = records + first[d] * kStride;
                 std::size_t const size = first[d + 1] - first[d];
                 if (size < 2) continue;
                 if (other.size() < size * kStride) other.resize(size * kStride);
                 auto* const sorted = radix_sort<kStride>(mine, other.data(), size, below);
                 if (sorted != mine) std::copy_n(sorted, size * kStride, mine);
               }
             });
}

// Reads one temporary file, record by record.
class FileReader {
 public:
  FileReader(std::string const& path, std::size_t stride)
      : path_(path), stride_(stride), words_(kReadBytes / sizeof(std::uint64_t) / stride * stride) {
    fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0) fail();
    refill();
  }
  ~FileReader() {
    if (fd_ >= 0) close(fd_);
  }
  FileReader(FileReader const&) = delete;
  FileReader& operator=(FileReader const&) = delete;

  bool at_end() const { return at_ == filled_; }
  std::uint64_t const* record() const { return words_.data() + at_; }
  void next() {
    at_ += stride_;
    if (at_ == filled_) refill();
  }
  /// Records that follow each other in memory, from this one on.
  std::size_t buffered() const { return (filled_ - at_) / stride_; }
  void skip_buffer() { refill(); }

 private:
  void refill() {
    at_ = 0;
    std::size_t bytes = 0;
    std::size_t const wanted = words_.size() * sizeof(std::uint64_t);
    auto* data = reinterpret_cast<char*>(words_.data());
    while (bytes < wanted) {
      ssize_t const got = read(fd_, data + bytes, wanted - bytes);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail();
      if (got == 0) break;
      bytes += static_cast<std::size_t>(got);
    }
    filled_ = bytes / sizeof(std::uint64_t);
    if (filled_ % stride_ != 0) {
      throw Error(ExitCode::kDisk, fmt::format("{}: the temporary file was cut short", path_));
    }
  }
  [[noreturn]] void fail() const {
    throw Error(ExitCode::kDisk,
                fmt::format("{}: cannot be read: {}", path_, std::strerror(errno)));
  }

  std::string path_;
  std::size_t stride_;
  int fd_ = -1;
  std::vector<std::uint64_t> words_;
  std::size_t at_ = 0;
  std::size_t filled_ = 0;
};

bool key_less(std::uint64_t const* a, std::uint64_t const* b, std::size_t words) {
  for (std::size_t w = 0; w < words; ++w) {
    if (a[w] != b[w]) return a[w] < b[w];
  }
  return false;
}

// A loop, not std::equal: most keys have one word, and a call of memcmp would cost more than the
// comparison.
bool key_equal(std::uint64_t const* a, std::uint64_t const* b, std::size_t words) {
  std::size_t w = 0;
  while (w < words && a[w] == b[w]) ++w;
  return w == words;
}

// Merges sorted files; repeats across files keep the least payload.
void merge(std::vector<std::string> const& files, std::size_t key_words, bool payload,
           RecordSorter::Take const& take) {
  std::size_t const stride = key_words + (payload ? 1 : 0);
  std::vector<std::unique_ptr<FileReader>> readers;
  for (auto const& file : files) readers.push_back(std::make_unique<FileReader>(file, stride));
  // A heap with the least key on top.
  auto const later = [&](FileReader const* a, FileReader const* b) {
    return key_less(b->record(), a->record(), key_words);
  };
  std::vector<FileReader*> heap;
  for (auto const& reader : readers) {
    if (!reader->at_end()) heap.push_back(reader.get());
  }
  std::make_heap(heap.begin(), heap.end(), later);
  std::vector<std::uint64_t> out(kTakeRecords * stride);
  std::size_t n = 0;
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    FileReader* const reader = heap.back();
    std::uint64_t const* record = reader->record();
    std::uint64_t* const last = n == 0 ? nullptr : &out[(n - 1) * stride];
    if (last != nullptr && key_equal(last, record, key_words)) {
      if (payload) last[key_words] = std::min(last[key_words], record[key_words]);
    } else {
      if (n == kTakeRecords) {  // the last record stays: it may repeat
        if (!take(out.data(), n - 1)) return;
        std::copy_n(last, stride, out.data());
        n = 1;
      }
      std::copy_n(record, stride, &out[n * stride]);
      ++n;
    }
    reader->next();
    if (reader->at_end()) {
      heap.pop_back();
    } else {
      std::push_heap(heap.begin(), heap.end(), later);
    }
  }
  if (n > 0) take(out.data(), n);
}

}  // namespace

RecordSorter::RecordSorter(Options options)
    : options_(std::move(options)),
      stride_(static_cast<std::size_t>(options_.key_words) + (options_.payload ? 1 : 0)) {}

RecordSorter::~RecordSorter() {
  for (auto const& file : files_) unlink(file.c_str());
}

std::uint64_t* RecordSorter::append(std::size_t count) {
  std::size_t const bytes = (count_ + count) * stride_ * sizeof(std::uint64_t);
  constexpr std::size_t kMaxChunk =
      std::numeric_limits<std::uint32_t>::max();  // sort_wide's indices
  if (count_ > 0 && (bytes > options_.memory_limit / kSortCopies || count_ + count > kMaxChunk))
    spill();
  if (count_ + count > capacity_) reserve(count_ + count);
  return records_.get() + count_ * stride_;
}

void RecordSorter::expect(std::size_t records) {
  std::size_t const most = options_.memory_limit / kSortCopies / sizeof(std::uint64_t) / stride_;
  std::size_t const wanted = std::min(count_ + records, most);
  if (wanted > capacity_) reserve(wanted);
}

void RecordSorter::reserve(std::size_t records) {
  std::size_t const wanted = std::max(records, capacity_ * 2);
  std::size_t const bytes = wanted * stride_ * sizeof(std::uint64_t);
  // realloc moves large blocks by their pages, without copying
  auto* const moved = static_cast<std::uint64_t*>(std::realloc(records_.get(), bytes));
  if (moved == nullptr) fail_memory(bytes);
  static_cast<void>(records_.release());
  records_.reset(moved);
  capacity_ = wanted;
}

bool RecordSorter::ascends() const {
  auto const words = static_cast<std::size_t>(options_.key_words);
  for (std::size_t i = 1; i < count_; ++i) {
    std::uint64_t const* const record = records_.get() + i * stride_;
    if (!key_less(record - stride_, record, words)) return false;
  }
  return true;
}

void RecordSorter::sort_in_memory() {
  if (ascends()) return;
  if (options_.key_words == 1) {
    sort_narrow();
  } else {
    sort_wide();
  }
  drop_repeats();
}

void RecordSorter::sort_narrow() {
  constexpr std::size_t kWorthAThread = 1U << 16;
  int const threads = count_ < kWorthAThread ? 1 : options_.threads;
  try {
    if (options_.payload) {
      split_sort<2>(records_.get(), count_, threads);
    } else {
      split_sort<1>(records_.get(), count_, threads);
    }
  } catch (std::bad_alloc const&) {
    fail_memory(count_ * stride_ * sizeof(std::uint64_t));
  }
}

void RecordSorter::sort_wide() {
  auto const words = static_cast<std::size_t>(options_.key_words);
  std::vector<std::uint32_t> order(count_);
  std::iota(order.begin(), order.end(), 0U);
  std::uint64_t const* from = records_.get();
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return key_less(from + a * stride_, from + b * stride_, words);
  });
  std::size_t const bytes = std::max<std::size_t>(1, count_ * stride_) * sizeof(std::uint64_t);
  Words other(static_cast<std::uint64_t*>(std::malloc(bytes)));
  if (!other) fail_memory(bytes);
  for (std::size_t i = 0; i < count_; ++i) {
    std::copy_n(from + order[i] * stride_, stride_, other.get() + i * stride_);
  }
  records_.swap(other);
  capacity_ = count_;
}

void RecordSorter::drop_repeats() {
  if (count_ == 0) return;
  auto const words = static_cast<std::size_t>(options_.key_words);
  std::uint64_t* const records = records_.get();
  std::size_t last = 0;
  for (std::size_t i = 1; i < count_; ++i) {
    std::uint64_t const* record = records + i * stride_;
    std::uint64_t* kept = records + last * stride_;
    if (key_equal(kept, record, words)) {
      if (options_.payload) kept[words] = std::min(kept[words], record[words]);
      continue;
    }
    ++last;
    if (last != i) std::copy_n(record, stride_, kept + stride_);
  }
  count_ = last + 1;
}

std::string RecordSorter::next_path() {
  std::error_code ec;
  std::filesystem::create_directories(options_.dir, ec);
  if (ec)
    throw Error(ExitCode::kDisk,
                fmt::format("{}: cannot be created: {}", options_.dir, ec.message()));
  return fmt::format("{}/{}.{}", options_.dir, options_.name, next_file_++);
}

void RecordSorter::spill() {
  sort_in_memory();
  std::string const path = next_path();
  FileWriter file(path);
  file.write(reinterpret_cast<char const*>(records_.get()),
             count_ * stride_ * sizeof(std::uint64_t));
  file.close();
  files_.push_back(path);
  count_ = 0;
  if (files_.size() == kMaxFiles) {
    std::string const merged = merge_files(files_);
    for (auto const& old : files_) unlink(old.c_str());
    files_.assign(1, merged);
  }
}

std::string RecordSorter::merge_files(std::vector<std::string> const& files) {
  std::string const path = next_path();
  FileWriter out(path);
  merge(files, static_cast<std::size_t>(options_.key_words), options_.payload,
        [&](std::uint64_t const* records, std::size_t n) {
          out.write(reinterpret_cast<char const*>(records), n * stride_ * sizeof(std::uint64_t));
          return true;
        });
  out.close();
  return path;
}

void RecordSorter::for_each_so_far(Look const& look) const {
  for (auto const& file : files_) {
    for (FileReader reader(file, stride_); !reader.at_end(); reader.skip_buffer())
      look(reader.record(), reader.buffered());
  }
  if (count_ > 0) look(records_.get(), count_);
}

void RecordSorter::finish() {
  if (files_.empty()) {
    sort_in_memory();
    return;
  }
  if (count_ > 0) spill();
  records_.reset();
  capacity_ = 0;
}

void RecordSorter::for_each(Take const& take) const {
  if (!files_.empty()) {
    merge(files_, static_cast<std::size_t>(options_.key_words), options_.payload, take);
  } else if (count_ > 0) {
    take(records_.get(), count_);
  }
}

}  // namespace fairlane
