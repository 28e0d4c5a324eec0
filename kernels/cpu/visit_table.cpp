#include "kernels/cpu/visit_table.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <string>
#include <vector>

#include "base/divisor.h"
#include "base/error.h"
#include "base/large_pages.h"
#include "base/threads/thread_pool.h"

#if defined(__SANITIZE_THREAD__)
#define FL_THREAD_SANITIZER true
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FL_THREAD_SANITIZER true
#endif
#endif
#ifndef FL_THREAD_SANITIZER
#define FL_THREAD_SANITIZER false
#endif

namespace fairlane {

namespace {

constexpr bool kThreadSanitizer = FL_THREAD_SANITIZER;

/// RowKeys of groups whose key is one word, without divisions.
class RowKeyMaker {
 public:
  explicit RowKeyMaker(RowKeys const& keys) : keys_(keys) {
    for (int r = 0; r < keys.first[keys.words]; ++r) {
      RowKeyRun const& run = keys.runs[r];
      runs_.push_back({Divisor(run.from_stride), Divisor(std::max<std::uint64_t>(1, run.range)),
                       run.range == 0, run.to_stride});
    }
  }
  /// key  [words]
  void put(std::uint64_t group, std::uint32_t variant, std::uint64_t* key) const {
    for (int w = 0; w < keys_.words; ++w) {
      key[w] = keys_.variant[static_cast<std::int64_t>(variant) * keys_.words + w];
      for (auto r = static_cast<std::size_t>(keys_.first[w]);
           r < static_cast<std::size_t>(keys_.first[w + 1]); ++r) {
        Run const& run = runs_[r];
        std::uint64_t rest = group;
        std::uint64_t digit = run.from.divide(rest);
        if (!run.leads) run.range.divide(digit);  // leaves the remainder
        key[w] += digit * run.to_stride;
      }
    }
  }

 private:
  struct Run {
    Divisor from;
    Divisor range;
    bool leads;
    std::uint64_t to_stride;
  };
  RowKeys const& keys_;
  std::vector<Run> runs_;
};

}  // namespace

ZeroedMemory::ZeroedMemory(std::size_t bytes) : bytes_(bytes) {
  data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data_ == MAP_FAILED) {
    data_ = nullptr;
    throw Error(ExitCode::kMemory, "out of memory: " + std::to_string(bytes >> 20) +
                                       " MiB for the record of visited inputs; lower memory_limit");
  }
  use_large_pages(data_, bytes);
}

ZeroedMemory::~ZeroedMemory() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

VisitAnswers::Far::Far(std::size_t lanes)
    : home(lanes),
      group(lanes),
      variant(lanes),
      seed(lanes),
      iteration(lanes),
      hit(lanes),
      labels(lanes),
      place(lanes),
      lists(lanes) {}

VisitAnswers::VisitAnswers(long lanes)
    : place(static_cast<std::size_t>(lanes)), lists(place.size()), far(place.size()) {}

void VisitTable::find_many(LaneKernels const& kernels, int first, int last, VisitQuery const& query,
                           std::int32_t* hit, std::uint32_t* labels, VisitAnswers& answers) {
  if (kThreadSanitizer) {  // it cannot know that vector loads are atomic word by word
    for (int i = first; i < last; ++i) {
      query.home[i] = home(query.group[i], query.variant[i]);
      find_one(i, query, hit, labels, answers);
    }
    return;
  }
  auto& lists = answers.lists;
  VisitSlots const slots{slots_, variants_, kFlagBits + label_bits_};
  auto const found = lists.found(hit, labels, answers.place.data());
  // A core waits for a few lines at a time: it matches earlier inputs while those of later ones
  // come.
  constexpr int kStep = 8;
  constexpr int kLag = 48;  // inputs whose lines have been asked for and not looked at
  for (int at = first; at < last + kLag; at += kStep) {
    for (int i = at; i < std::min(at + kStep, last); ++i) {
      query.home[i] = home(query.group[i], query.variant[i]);
      prefetch(query.home[i]);
    }
    int const behind = at - kLag;
    if (behind >= first)
      kernels.match_visits(slots, behind, std::min(behind + kStep, last), query, found);
  }
  auto const count = kernels.list_visits(slots, first, last, query, found);
  for (std::size_t k = 0; k < count.far; ++k) prefetch(answers.place[lists.far[k]] & mask_);
  for (std::size_t k = 0; k < count.unknown; ++k)
    answers.unknown.push_back(static_cast<std::int32_t>(lists.unknown[k]));
  for (std::size_t k = 0; k < count.sibling; ++k)
    answers.siblings.push_back(static_cast<std::int32_t>(lists.sibling[k]));
  for (std::size_t k = 0; k < count.lower; ++k)
    lower(slots_[answers.place[lists.lower[k]]], lists.finder[lists.lower[k]]);
  find_far(kernels, count.far, query, hit, labels, answers);
}

void VisitTable::find_far(LaneKernels const& kernels, std::size_t count, VisitQuery const& query,
                          std::int32_t* hit, std::uint32_t* labels, VisitAnswers& answers) {
  auto& far = answers.far;
  auto const& input = answers.lists.far;
  for (std::size_t k = 0; k < count; ++k) {
    std::uint64_t const i = input[k];
    far.home[k] = answers.place[i] & mask_;
    far.group[k] = query.group[i];
    far.variant[k] = query.variant[i];
    far.seed[k] = query.seed[i];
    far.iteration[k] = query.iteration[i];
  }
  auto& lists = far.lists;
  VisitSlots const slots{slots_, variants_, kFlagBits + label_bits_};
  VisitQuery const again{far.home.data(), far.group.data(),     far.variant.data(),
                         far.seed.data(), far.iteration.data(), query.phase};
  auto const answer = lists.found(far.hit.data(), far.labels.data(), far.place.data());
  kernels.match_visits(slots, 0, static_cast<int>(count), again, answer);
  auto const found = kernels.list_visits(slots, 0, static_cast<int>(count), again, answer);
  for (std::size_t k = 0; k < count; ++k) {
    std::uint64_t const i = input[k];
    bool const known = far.hit[k] >= 0;  // otherwise a sibling in the first line may be
    hit[i] = known ? far.hit[k] : hit[i];
    labels[i] = known ? far.labels[k] : labels[i];
    answers.place[i] = far.place[k];
  }
  for (std::size_t k = 0; k < found.unknown; ++k) {
    auto const i = static_cast<std::int32_t>(input[lists.unknown[k]]);
    (hit[i] < 0 ? answers.unknown : answers.siblings).push_back(i);
  }
  for (std::size_t k = 0; k < found.sibling; ++k)
    answers.siblings.push_back(static_cast<std::int32_t>(input[lists.sibling[k]]));
  for (std::size_t k = 0; k < found.lower; ++k)
    lower(slots_[far.place[lists.lower[k]]], lists.finder[lists.lower[k]]);
  for (std::size_t k = 0; k < found.far; ++k)
    find_one(static_cast<int>(input[lists.far[k]]), query, hit, labels, answers);
}

void VisitTable::find_one(int i, VisitQuery const& query, std::int32_t* hit, std::uint32_t* labels,
                          VisitAnswers& answers) {
  std::uint64_t const finder =
      query.phase | (std::uint64_t{query.seed[i]} << Finder::kIterationBits) | query.iteration[i];
  auto const answer = find(query.home[i], query.group[i], query.variant[i], finder);
  answers.place[static_cast<std::size_t>(i)] = query.home[i];
  hit[i] = (answer.flags & kHitFlag) != 0 ? 1 : 0;
  labels[i] = answer.labels;
  if (!answer.known) {
    answers.unknown.push_back(i);
  } else if (!answer.seen) {
    answers.siblings.push_back(i);
  }
}

VisitTable::VisitTable(std::uint64_t groups, int variants, int label_bits,
                       std::uint64_t limit_bytes, int threads)
    : variants_(static_cast<std::uint64_t>(variants)), label_bits_(label_bits), threads_(threads) {
  chunks_ = (variants_ + kChunk - 1) / kChunk;
  chunk_size_ = std::min(variants_, kChunk);
  if (std::bit_width(groups * variants_ + kKeyOffset) + label_bits_ + kFlagBits > 64)
    label_bits_ = 0;
  domain_slots_ = std::bit_ceil(groups * chunks_ * chunk_size_);
  constexpr std::uint64_t kLeast = 1ULL << 14;
  max_capacity_ = std::max(kLeast, std::bit_floor(limit_bytes / sizeof(Slot)));
  direct_ = domain_slots_ <= kLeast;
  allocate(direct_ ? domain_slots_ : kLeast);
}

void VisitTable::allocate(std::uint64_t capacity) {
  auto memory = std::make_unique<ZeroedMemory>((capacity + kSlotsPerLine) * sizeof(Slot));
  memory_ = std::move(memory);  // only now: a failure leaves the table as it was
  slots_ = static_cast<Slot*>(memory_->get());
  capacity_ = capacity;
  mask_ = capacity - 1;
  shift_ = 64 - std::countr_zero(capacity);
}

VisitTable::Use::Use(VisitTable& table, std::uint64_t inserts)
    : table_(table), lock_(table.gate_), reserved_(inserts) {
  while (true) {
    std::uint64_t const taken = table_.size_.fetch_add(inserts, std::memory_order_relaxed);
    if (table_.direct_ || taken + inserts <= table_.room()) return;
    table_.size_.fetch_sub(inserts, std::memory_order_relaxed);
    if (table_.capacity_ >= table_.max_capacity_) {
      reserved_ = 0;
      writable_ = false;
      return;
    }
    lock_.unlock();
    table_.grow(inserts);
    lock_.lock();
  }
}

VisitTable::Use::~Use() {
  table_.size_.fetch_sub(reserved_ - inserted_, std::memory_order_relaxed);
  table_.hits_.fetch_add(hits_, std::memory_order_relaxed);
}

void VisitTable::grow(std::uint64_t needed) {
  std::unique_lock const alone(gate_);
  if (size() + needed <= room() || capacity_ >= max_capacity_)
    return;  // another thread has grown it
  constexpr std::uint64_t kFactor = 4;
  rehash(std::max(capacity_ * kFactor, std::bit_ceil(needed * 2)));
}

void VisitTable::reserve(double inputs) {
  std::unique_lock const alone(gate_);
  constexpr double kRoom = 1.5;  // a third to two thirds full
  double const slots = std::min(inputs * kRoom, static_cast<double>(max_capacity_));
  if (slots > static_cast<double>(capacity_))
    rehash(std::bit_ceil(static_cast<std::uint64_t>(slots)));
}

void VisitTable::rehash(std::uint64_t capacity) {
  auto old_memory = std::move(memory_);
  Slot const* old = slots_;
  std::uint64_t const old_capacity = capacity_;
  bool const was_direct = direct_;
  capacity = std::min(capacity, max_capacity_);
  direct_ = domain_slots_ <= capacity;
  try {
    allocate(direct_ ? domain_slots_ : capacity);
  } catch (Error const&) {
    // As large as it will get: what does not fit goes elsewhere from now on.
    memory_ = std::move(old_memory);
    direct_ = was_direct;
    max_capacity_ = capacity_;
    return;
  }
  // Where homes are hashes, their order stays, so that threads hardly meet.
  constexpr std::int64_t kPiece = 1 << 12;           // slots
  constexpr std::uint64_t kWorthThreads = 1U << 20;  // new slots, whose pages come meanwhile
  ThreadPool pool;
  int threads = 1;
  if (capacity_ >= kWorthThreads)
    threads += pool.reserve(threads_ - 1);  // where memory is short, none may start
  pool.share(threads, 0, static_cast<std::int64_t>(old_capacity), kPiece,
             [&](int, std::int64_t first, std::int64_t count) {
               for (std::int64_t i = first; i < first + count; ++i) move_in(old[i]);
             });
}

void VisitTable::move_in(Slot const& from) {
  if (from.word == 0) return;
  std::uint64_t const key = key_of(from.word) - kKeyOffset;
  std::uint64_t at = home(key / variants_, static_cast<std::uint32_t>(key % variants_));
  // To read a new page before it is written to would have the system provide it twice.
  for (std::uint64_t free = 0;
       !std::atomic_ref<std::uint64_t>(slots_[at].word)
            .compare_exchange_strong(free, from.word, std::memory_order_relaxed);
       free = 0)
    at = (at + 1) & mask_;
  slots_[at].finder = from.finder;
}

void VisitTable::collect(VisitSink const& sink) const {
  constexpr std::size_t kBatch = 1 << 16;
  std::vector<std::uint64_t> group;
  std::vector<std::uint32_t> variant;
  std::vector<std::uint64_t> finder;
  std::vector<std::uint8_t> state;
  auto const flush = [&] {
    if (group.empty()) return;
    sink({group.size(), 1, group.data(), variant.data(), finder.data(), state.data()});
    group.clear();
    variant.clear();
    finder.clear();
    state.clear();
  };
  for (std::uint64_t i = 0; i < capacity_; ++i) {
    std::uint64_t const word = slots_[i].word;
    if (word == 0) continue;
    std::uint64_t const key = key_of(word) - kKeyOffset;
    group.push_back(key / variants_);
    variant.push_back(static_cast<std::uint32_t>(key % variants_));
    finder.push_back(~slots_[i].finder);
    state.push_back(visit_state(word));
    if (group.size() == kBatch) flush();
  }
  flush();
}

FindingCounts VisitTable::collect_findings(FindingQuery const& query, int threads,
                                           TakeRecords const& take) const {
  constexpr std::int64_t kPiece = 1 << 15;  // slots
  // Each further chunk of a group is a look at memory far away; sorting the groups costs as much.
  constexpr std::uint64_t kMostChunks = 2;
  bool const counts_groups = chunks_ <= kMostChunks;
  auto const words = static_cast<std::size_t>(query.keys.words);
  RowKeyMaker const maker(query.keys);
  Divisor const members(variants_);
  struct Part {
    std::array<std::int64_t, 4> kinds{};  // visits of each VisitKind
    std::int64_t groups = 0;
    std::vector<std::int64_t> idis;  // slots
    std::vector<std::uint64_t> records;
  };
  std::vector<Part> parts(static_cast<std::size_t>(threads));
  std::mutex taking;
  auto const work = [&](int thread, std::int64_t first, std::int64_t count) {
    Part& part = parts[static_cast<std::size_t>(thread)];
    part.records.resize(static_cast<std::size_t>(count) * (words + 1));
    std::uint64_t* to = part.records.data();
    // First which slots hold IDIs: what is free and what is not follows no pattern.
    part.idis.resize(static_cast<std::size_t>(count));
    std::size_t idis = 0;
    for (std::int64_t i = first; i < first + count; ++i) {
      Slot const& slot = slots_[i];
      bool const counts = slot.word != 0 && ~slot.finder < query.cut;
      VisitKind const kind = visit_kind(visit_state(slot.word));
      part.kinds[static_cast<std::size_t>(kind)] += counts ? 1 : 0;
      part.idis[idis] = i;
      idis += counts && kind == VisitKind::kIdi ? 1U : 0U;
    }
    for (std::size_t k = 0; k < idis; ++k) {
      Slot const& slot = slots_[part.idis[k]];
      std::uint64_t rest = key_of(slot.word) - kKeyOffset;
      std::uint64_t const group = members.divide(rest);
      auto const variant = static_cast<std::uint32_t>(rest);
      maker.put(group, variant, to);
      to += words;
      *to++ = query.label_pairs ? label_pair(slot.word, variant) : ~slot.finder;
      if (counts_groups && is_first_of_group(group, variant, query.cut)) ++part.groups;
    }
    if (to == part.records.data()) return;
    std::lock_guard const guard(taking);
    take(part.records.data(), static_cast<std::size_t>(to - part.records.data()) / (words + 1));
  };
  ThreadPool pool;
  pool.share(threads, 0, static_cast<std::int64_t>(capacity_), kPiece, work);
  FindingCounts counts;
  for (Part const& part : parts) {
    for (std::size_t k = 0; k < part.kinds.size(); ++k)
      counts.count(static_cast<VisitKind>(k), part.kinds[k]);
    counts.unique_groups += part.groups;
  }
  if (!counts_groups) counts.unique_groups = kUncounted;
  return counts;
}

std::uint64_t VisitTable::label_pair(std::uint64_t word, std::uint32_t variant) const {
  if (label_bits_ == 0 || (word & kIrregularFlag) != 0) return LabelPair::kUnknown;
  auto const bits = static_cast<std::uint32_t>(label_bits_) / static_cast<std::uint32_t>(variants_);
  std::uint64_t const all = (std::uint64_t{1} << label_bits_) - 1;
  std::uint64_t const one = (std::uint64_t{1} << bits) - 1;
  std::uint64_t const labels = (word >> kFlagBits) & all;
  auto const label_of = [&](std::uint32_t v) {
    return static_cast<std::uint32_t>((labels >> (v * bits)) & one);
  };
  std::uint32_t const label = label_of(variant);
  // The label in every member's place: all / one has a bit in each.
  std::uint64_t const differing = labels ^ (all / one * label);
  if (differing == 0) return LabelPair::kUnknown;
  std::uint32_t const pair = static_cast<std::uint32_t>(std::countr_zero(differing)) / bits;
  return LabelPair{pair, label, label_of(pair)}.word();
}

bool VisitTable::is_first_of_group(Key group, std::uint32_t variant, std::uint64_t cut) const {
  std::uint64_t const first = group * variants_ + kKeyOffset;
  // A table that holds the whole domain has a chunk's members side by side, and no free slot.
  std::uint64_t const most = direct_ ? chunk_size_ : capacity_;
  for (std::uint32_t v = 0; v < variant; v += kChunk) {
    std::uint64_t const start = home(group, v);
    for (std::uint64_t step = 0; step < most; ++step) {
      Slot const& slot = slots_[(start + step) & mask_];
      if (slot.word == 0) break;
      bool const is_before = key_of(slot.word) - first < variant;
      if (is_before && (slot.word & kHitFlag) != 0 && ~slot.finder < cut &&
          visit_kind(visit_state(slot.word)) == VisitKind::kIdi)
        return false;
    }
  }
  return true;
}

void VisitTable::clear() {
  size_.store(0, std::memory_order_relaxed);
  hits_.store(0, std::memory_order_relaxed);
  if (slots_ != nullptr) allocate(capacity_);
}

}  // namespace fairlane
