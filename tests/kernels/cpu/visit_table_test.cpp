// The records of visited inputs against a std::map.
#include "kernels/cpu/visit_table.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "kernels/cpu/wide_visit_table.h"
#include "tests/kernels/random_subject.h"

namespace fairlane {
namespace {

constexpr std::uint64_t kPlenty = 1ULL << 28;

/// What a group's evaluation would say: a pure function of its key, so that all threads agree.
struct GroupTruth {
  std::uint32_t labels;
  bool mixed;
  bool irregular;
};
GroupTruth truth_of(std::uint64_t group, int label_bits) {
  std::uint64_t const hash = (group + 1) * 0x9E3779B97F4A7C15ULL;
  std::uint64_t const mask = (1ULL << label_bits) - 1;
  return {static_cast<std::uint32_t>((hash >> 20) & mask), ((hash >> 60) & 1) != 0,
          (hash >> 61) == 0};
}
std::uint32_t flags_of(std::uint64_t group, std::uint32_t variant, int label_bits) {
  auto const truth = truth_of(group, label_bits);
  if (!truth.irregular) return truth.mixed ? kHitFlag : 0U;
  std::uint32_t const undefined = (group + variant) % 3 == 0 ? kUndefinedFlag : 0U;
  return kIrregularFlag | undefined | (undefined == 0 && variant % 2 == 0 ? kHitFlag : 0U);
}

using Input = std::pair<std::uint64_t, std::uint32_t>;  // group, variant
struct Entry {
  std::uint64_t finder;
  std::uint8_t state;
  bool operator==(Entry const&) const = default;
};
using Entries = std::map<Input, Entry>;

std::uint8_t state_of(std::uint32_t flags) {
  if ((flags & kHitFlag) != 0) return kVisitHit;
  if ((flags & kUndefinedFlag) != 0) return kVisitUndefined;
  return (flags & kIrregularFlag) != 0 ? kVisitUncertain : std::uint8_t{0};
}

void merge(Entries& entries, Input const& input, Entry const& entry) {
  auto const [at, fresh] = entries.insert({input, entry});
  if (!fresh) at->second.finder = std::min(at->second.finder, entry.finder);
}

/// One table behind the same calls: Narrow or Wide.
struct Narrow {
  Narrow(std::uint64_t groups, int variants, int label_bits, std::uint64_t limit, int threads = 1)
      : table(groups, variants, label_bits, limit, threads) {}
  using Table = VisitTable;
  static std::uint64_t key(std::uint64_t const& group) { return group; }
  static std::uint64_t group(Visits const& visits, std::size_t i) { return visits.group[i]; }
  VisitTable table;
};
/// Keys of two words: the group and its complement.
struct Wide {
  Wide(std::uint64_t, int, int, std::uint64_t limit, int = 1) : table(2, limit) {}
  using Table = WideVisitTable;
  struct Held {
    std::array<std::uint64_t, 2> words;
    operator WideVisitTable::Key() const { return {words.data(), 1}; }
  };
  static Held key(std::uint64_t const& group) { return {{group, ~group}}; }
  static std::uint64_t group(Visits const& visits, std::size_t i) {
    EXPECT_EQ(visits.group[2 * i + 1], ~visits.group[2 * i]);
    return visits.group[2 * i];
  }
  WideVisitTable table;
};

template <class Kind>
Entries collected(Kind& kind) {
  Entries entries;
  kind.table.collect([&](Visits const& visits) {
    for (std::size_t i = 0; i < visits.count; ++i) {
      Input const input{Kind::group(visits, i), visits.variant[i]};
      EXPECT_EQ(entries.count(input), 0U) << "an input twice";
      entries[input] = {visits.finder[i], visits.state[i]};
    }
  });
  return entries;
}

/// One visit: look up, check what is said, record. Returns whether the table took it.
template <class Kind>
bool visit(Kind& kind, std::uint64_t group, std::uint32_t variant, std::uint64_t finder,
           int label_bits, Entries const* before) {
  auto const key = Kind::key(group);
  auto const truth = truth_of(group, label_bits);
  std::uint32_t const flags = flags_of(group, variant, label_bits);
  typename Kind::Table::Use use(kind.table, 1);
  std::uint64_t const home = kind.table.home(key, variant);
  kind.table.prefetch(home);
  VisitAnswer const answer = kind.table.find(home, key, variant, finder);
  if (answer.known) {
    EXPECT_EQ(answer.flags & kHitFlag, flags & kHitFlag);
    if (kind.table.holds_labels()) {
      EXPECT_EQ(answer.labels, truth.labels);
    }
  }
  if (before != nullptr) {  // alone: the answer is exact
    bool const seen = before->count({group, variant}) != 0;
    EXPECT_EQ(answer.seen, seen);
    auto const sibling = before->lower_bound({group, 0});
    bool const visited = sibling != before->end() && sibling->first.first == group;
    if (!seen && (!visited || truth.irregular)) {
      EXPECT_FALSE(answer.known);
    }
  }
  if (answer.seen) {
    EXPECT_EQ(answer.flags & (kHitFlag | kUndefinedFlag | kIrregularFlag), flags);
    return true;
  }
  if (!use.writable()) return false;
  kind.table.insert(use, home, key, variant, truth.labels, flags, finder);
  return true;
}

struct Load {
  std::uint64_t groups;
  int variants;
  int label_bits;
  int visits;
  std::uint64_t spread;  // groups that are visited
};

constexpr Load kLoads[] = {
    {200, 5, 5, 3000, 200},                  // small: places are the keys themselves
    {1ULL << 40, 9, 9, 30000, 5000},         // hashed, grows
    {1ULL << 40, 40, 0, 30000, 700},         // more members than share a home, no labels
    {1ULL << 57, 3, 3, 30000, 20000},        // keys fill the word: labels are dropped or fit
    {(1ULL << 59) + 5, 1, 1, 20000, 20000},  // one variant
    {3000, 4, 4, 30000, 3000},               // starts direct
    {1500, 16, 16, 30000, 1500},             // outgrows into direct
};

template <class Kind>
void random_visits(Load const& load, std::uint32_t seed, int threads) {
  SCOPED_TRACE(std::to_string(load.groups) + " groups, " + std::to_string(load.variants) +
               " variants");
  Kind kind(load.groups, load.variants, load.label_bits, kPlenty, threads);
  std::mt19937_64 random(seed);
  Entries expected;
  for (int i = 0; i < load.visits; ++i) {
    std::uint64_t const number = random() % load.spread;
    std::uint64_t const group =
        load.spread == load.groups ? number : number * 0x9E3779B97F4A7C15ULL % load.groups;
    auto const variant =
        static_cast<std::uint32_t>(random() % static_cast<std::uint64_t>(load.variants));
    std::uint64_t const finder =
        Finder::pack(static_cast<Phase>(random() % 2), static_cast<std::uint32_t>(random()),
                     static_cast<std::uint32_t>(random() >> 34));
    ASSERT_TRUE(visit(kind, group, variant, finder, load.label_bits, &expected));
    merge(expected, {group, variant},
          {finder, state_of(flags_of(group, variant, load.label_bits))});
  }
  EXPECT_EQ(kind.table.size(), expected.size());
  EXPECT_TRUE(collected(kind) == expected);
  kind.table.reserve(1e5);
  EXPECT_TRUE(collected(kind) == expected) << "after reserve";
  kind.table.clear();
  EXPECT_EQ(kind.table.size(), 0U);
  EXPECT_TRUE(collected(kind).empty());
}

TEST(VisitTable, RemembersAsAMapDoes) {
  for (auto const& load : kLoads) {
    for (int const threads : {1, 2})
      random_visits<Narrow>(load, 1, threads);  // one thread spares the locks
  }
}

TEST(WideVisitTable, RemembersAsAMapDoes) {
  for (auto const& load : kLoads) random_visits<Wide>(load, 2, 1);
}

TEST(VisitTable, FinderIsTheLeast) {
  Narrow narrow(1000, 2, 2, kPlenty);
  Wide wide(1000, 2, 2, kPlenty);
  std::uint64_t const order[] = {
      Finder::pack(Phase::kGlobal, 0, 9), Finder::pack(Phase::kGlobal, 1, 1),
      Finder::pack(Phase::kGlobal, 0xFFFFFFFF, 0x7FFFFFFF), Finder::pack(Phase::kLocal, 0, 1),
      Finder::pack(Phase::kLocal, 0, 2)};
  EXPECT_TRUE(std::is_sorted(std::begin(order), std::end(order)));
  for (int i = 4; i >= 0; --i) {
    ASSERT_TRUE(visit(narrow, 17, 1, order[i], 2, nullptr));
    ASSERT_TRUE(visit(wide, 17, 1, order[i], 2, nullptr));
    EXPECT_EQ((collected(narrow)[{17, 1}].finder), order[i]);
    EXPECT_EQ((collected(wide)[{17, 1}].finder), order[i]);
  }
  ASSERT_TRUE(visit(narrow, 17, 1, order[3], 2, nullptr));
  EXPECT_EQ((collected(narrow)[{17, 1}].finder), order[0]);
  EXPECT_EQ(Finder::phase(order[3]), Phase::kLocal);
  EXPECT_EQ(Finder::seed(order[2]), 0xFFFFFFFFU);
  EXPECT_EQ(Finder::iteration(order[0]), 9U);
}

// At its memory limit a table refuses new inputs and keeps answering for the old ones.
template <class Kind>
void fill_up(std::uint64_t limit) {
  constexpr int kBits = 4;
  Kind kind(1ULL << 40, 4, kBits, limit);
  Entries expected;
  int refused = 0;
  for (std::uint64_t i = 0; i < 60'000; ++i) {
    std::uint64_t const group = (i % 40'000) / 3;
    auto const variant = static_cast<std::uint32_t>(i % 4);
    std::uint64_t const finder =
        Finder::pack(Phase::kLocal, static_cast<std::uint32_t>(60'000 - i), 1);
    bool const held = expected.count({group, variant}) != 0;
    bool const taken = visit(kind, group, variant, finder, kBits, &expected);
    ASSERT_TRUE(taken || !held);
    if (taken)
      merge(expected, {group, variant}, {finder, state_of(flags_of(group, variant, kBits))});
    refused += taken ? 0 : 1;
  }
  EXPECT_GT(refused, 0);
  EXPECT_TRUE(collected(kind) == expected);
}

TEST(VisitTable, RefusesWhenFull) {
  constexpr std::uint64_t kSlots = 1 << 14;
  fill_up<Narrow>(0);
  fill_up<Narrow>(kSlots * sizeof(VisitSlot));
}

TEST(WideVisitTable, RefusesWhenFull) { fill_up<Wide>(100'000); }

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kShadowMemory = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kShadowMemory = true;
#else
constexpr bool kShadowMemory = false;
#endif
#else
constexpr bool kShadowMemory = false;
#endif

/// Ends with status 0 when a table that the system gives no more memory behaves as a full one.
[[noreturn]] void outgrow_the_system() {
  auto const check = [](bool holds, char const* what) {
    if (holds) return;
    std::fprintf(stderr, "%s\n", what);
    std::_Exit(1);
  };
  VisitTable table(1ULL << 40, 2, 2, 1ULL << 40, 2);
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  check(pages > 0, "no size of this process");
  constexpr std::uint64_t kMore = 8ULL << 20;  // room for some growth
  std::uint64_t const most = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) + kMore;
  rlimit const limit{most, most};
  check(setrlimit(RLIMIT_AS, &limit) == 0, "no limit");
  constexpr std::uint64_t kAtOnce = 1024;
  std::uint64_t count = 0;
  while (count < (1U << 22)) {
    VisitTable::Use use(table, kAtOnce);
    if (!use.writable()) break;
    for (std::uint64_t i = 0; i < kAtOnce; ++i, ++count)
      table.insert(use, table.home(count, 0), count, 0, 1, kHitFlag, count + 9);
  }
  check(count > kAtOnce && count < (1U << 22), "it must grow, then refuse");
  check(!VisitTable::Use(table, kAtOnce).writable(), "it must go on refusing");
  check(table.size() == count && table.hits() == count, "it must keep its counts");
  for (std::uint64_t i = 0; i < count; ++i)
    check(table.find(table.home(i, 0), i, 0, i + 7).seen, "it must know what it held");
  check(!table.find(table.home(count, 0), count, 0, 1).known, "it must not know others");
  std::uint64_t held = 0;
  std::uint64_t lowered = 0;
  table.collect([&](Visits const& visits) {
    held += visits.count;
    for (std::size_t i = 0; i < visits.count; ++i)
      lowered += visits.finder[i] == visits.group[i] + 7 ? 1 : 0;
  });
  check(held == count && lowered == count, "it must hand out what it held");
  std::_Exit(0);
}

// A table that cannot grow because the system has no memory stays as it is; new inputs go
// elsewhere.
TEST(VisitTableDeathTest, RefusesWhenTheSystemHasNoMore) {
  if (kShadowMemory) GTEST_SKIP() << "address space is what this sanitizer's shadow memory needs";
  EXPECT_EXIT(outgrow_the_system(), ::testing::ExitedWithCode(0), "");
}

/// Looks many inputs up at once and one by one.
TEST(VisitTable, ManyAtOnceIsTheSameAsOneByOne) {
  constexpr int kBlock = 70;
  constexpr int kPart = 32;
  for (auto const* kernels : kernel_tables()) {
    for (auto const& load : kLoads) {
      SCOPED_TRACE(std::string(kernels->isa) + ", " + std::to_string(load.groups) + " groups");
      Narrow one(load.groups, load.variants, load.label_bits, kPlenty);
      Narrow many(load.groups, load.variants, load.label_bits, kPlenty);
      std::mt19937_64 random(9);
      VisitAnswers answers(2 * kPadLanes);
      LaneArray<std::uint64_t> home(1, 2 * kPadLanes);
      LaneArray<std::uint64_t> group(1, 2 * kPadLanes);
      LaneArray<std::uint32_t> variant(1, 2 * kPadLanes);
      LaneArray<std::uint32_t> seed(1, 2 * kPadLanes);
      LaneArray<std::uint32_t> iteration(1, 2 * kPadLanes);
      LaneArray<std::int32_t> hit(1, 2 * kPadLanes);
      LaneArray<std::uint32_t> labels(1, 2 * kPadLanes);
      for (int round = 0; round < 60; ++round) {
        int const n = 1 + static_cast<int>(random() % kBlock);
        for (int i = 0; i < n; ++i) {
          std::uint64_t const number = random() % (load.spread / 4 + 1);
          group[i] =
              load.spread == load.groups ? number : number * 0x9E3779B97F4A7C15ULL % load.groups;
          variant[i] =
              static_cast<std::uint32_t>(random() % static_cast<std::uint64_t>(load.variants));
          seed[i] = static_cast<std::uint32_t>(random() % 1000);
          iteration[i] = static_cast<std::uint32_t>(round);
        }
        std::uint64_t const phase =
            Finder::pack(round % 2 == 0 ? Phase::kGlobal : Phase::kLocal, 0, 0);
        VisitTable::Use use(many.table, static_cast<std::uint64_t>(n));
        std::fill_n(home.data(), n, 0);  // find_many's to say
        answers.unknown.clear();
        answers.siblings.clear();
        // in two parts
        int const half = n > kPart ? kPart : 0;
        VisitQuery const query{home.data(), group.data(),     variant.data(),
                               seed.data(), iteration.data(), phase};
        many.table.find_many(*kernels, 0, half, query, hit.data(), labels.data(), answers);
        many.table.find_many(*kernels, half, n, query, hit.data(), labels.data(), answers);
        std::set<std::int32_t> const unknown(answers.unknown.begin(), answers.unknown.end());
        std::set<std::int32_t> const siblings(answers.siblings.begin(), answers.siblings.end());
        ASSERT_EQ(unknown.size(), answers.unknown.size());
        {
          VisitTable::Use other(one.table, static_cast<std::uint64_t>(n));
          for (int i = 0; i < n; ++i) {
            std::uint64_t const finder =
                phase | static_cast<std::uint64_t>(seed[i]) << Finder::kIterationBits |
                iteration[i];
            auto const answer =
                one.table.find(one.table.home(group[i], variant[i]), group[i], variant[i], finder);
            ASSERT_EQ(home[i], many.table.home(group[i], variant[i]));
            ASSERT_EQ(unknown.count(i) != 0, !answer.known);
            ASSERT_EQ(siblings.count(i) != 0, answer.known && !answer.seen);
            if (!answer.known) continue;
            ASSERT_EQ(hit[i] != 0, (answer.flags & kHitFlag) != 0);
            if (one.table.holds_labels()) {
              ASSERT_EQ(labels[i], answer.labels);
            }
          }
          for (int i = 0; i < n; ++i) {
            if (siblings.count(i) == 0 && unknown.count(i) == 0) continue;
            auto const u = static_cast<std::size_t>(i);
            std::uint32_t const all = truth_of(group[i], load.label_bits).labels;
            std::uint32_t const flags = flags_of(group[i], variant[i], load.label_bits);
            std::uint64_t const finder =
                phase | static_cast<std::uint64_t>(seed[i]) << Finder::kIterationBits |
                iteration[i];
            many.table.insert(use, answers.place[u], group[i], variant[i], all, flags, finder);
            one.table.insert(other, one.table.home(group[i], variant[i]), group[i], variant[i], all,
                             flags, finder);
          }
        }
      }
      ASSERT_TRUE(collected(one) == collected(many));
    }
  }
}

/// Threads visit overlapping inputs while the table grows; the record is that of any order.
template <class Kind>
void together(Load const& load, std::uint64_t limit) {
  constexpr int kThreads = 4;
  Kind kind(load.groups, load.variants, load.label_bits, limit, kThreads);
  Entries expected;
  std::array<Entries, kThreads> refused;
  auto const visits = [&](int thread, auto&& take) {
    std::mt19937_64 random(static_cast<std::uint64_t>(thread));
    for (int i = 0; i < load.visits / kThreads; ++i) {
      std::uint64_t const number = random() % load.spread;
      std::uint64_t const group =
          load.spread == load.groups ? number : number * 0x9E3779B97F4A7C15ULL % load.groups;
      auto const variant =
          static_cast<std::uint32_t>(random() % static_cast<std::uint64_t>(load.variants));
      take(group, variant,
           Finder::pack(Phase::kLocal, static_cast<std::uint32_t>(random() % 100'000), 3));
    }
  };
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    visits(t, [&](std::uint64_t group, std::uint32_t variant, std::uint64_t finder) {
      merge(expected, {group, variant},
            {finder, state_of(flags_of(group, variant, load.label_bits))});
    });
    threads.emplace_back([&, t] {
      visits(t, [&](std::uint64_t group, std::uint32_t variant, std::uint64_t finder) {
        if (visit(kind, group, variant, finder, load.label_bits, nullptr)) return;
        merge(refused[static_cast<std::size_t>(t)], {group, variant},
              {finder, state_of(flags_of(group, variant, load.label_bits))});
      });
    });
  }
  threads.clear();
  auto entries = collected(kind);
  EXPECT_EQ(entries.size(), kind.table.size());
  for (auto const& some : refused) {
    for (auto const& [input, entry] : some) merge(entries, input, entry);
  }
  EXPECT_TRUE(entries == expected);
}

TEST(VisitTableThreads, RecordIsThatOfAnyOrder) {
  for (auto const& load : kLoads) together<Narrow>(load, kPlenty);
}

TEST(VisitTableThreads, RecordIsThatOfAnyOrderWhenFull) {
  together<Narrow>({1ULL << 40, 3, 3, 60000, 15000}, 0);
}

TEST(VisitTableThreads, WideRecordIsThatOfAnyOrder) {
  for (auto const& load : kLoads) together<Wide>(load, kPlenty);
  together<Wide>({1ULL << 40, 3, 3, 60000, 15000}, 50'000);
}

/// The word of a LabelPair, member by member.
std::uint64_t pair_of(std::uint64_t group, std::uint32_t variant, int variants, int label_bits) {
  auto const truth = truth_of(group, label_bits);
  if (label_bits == 0 || truth.irregular) return LabelPair::kUnknown;
  int const bits = label_bits / variants;
  auto const label = [&](int v) { return (truth.labels >> (v * bits)) & ((1U << bits) - 1); };
  std::uint32_t const own = label(static_cast<int>(variant));
  for (int v = 0; v < variants; ++v) {
    if (label(v) != own) return LabelPair{static_cast<std::uint32_t>(v), own, label(v)}.word();
  }
  return LabelPair::kUnknown;
}

/// The IDIs of a table against those among all that it hands out.
void expect_findings(std::uint64_t groups, int variants, int label_bits, std::uint64_t seen) {
  constexpr std::uint64_t kCut = Finder::pack(Phase::kLocal, 700, 0);
  constexpr std::uint64_t kLow = 7;  // the digits of a group's key in two places, turned round
  auto const members = static_cast<std::uint64_t>(variants);
  RowKeyRun const runs[] = {{0, kLow, 0, members}, {0, 1, kLow, 1ULL << 48}};
  int const first[] = {0, 2};
  int const bits[] = {62};
  std::vector<std::uint64_t> variant_keys(members);
  for (std::uint64_t v = 0; v < members; ++v) variant_keys[v] = v;
  RowKeys const keys{1, variants, runs, first, variant_keys.data(), bits};
  for (int const threads : {1, 3}) {
    Narrow kind(groups, variants, label_bits, kPlenty, threads);
    std::mt19937_64 random(seen);
    for (std::uint64_t i = 0; i < 40'000; ++i) {
      visit(kind, random() % seen, static_cast<std::uint32_t>(random() % members),
            Finder::pack(Phase::kLocal, static_cast<std::uint32_t>(random() % 1000), 3), label_bits,
            nullptr);
    }
    FindingCounts expected;
    std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> idis;  // finder, pair
    std::set<std::uint64_t> found_groups;
    for (auto const& [input, entry] : collected(kind)) {
      if (entry.finder >= kCut) continue;
      expected.count(visit_kind(entry.state));
      if (visit_kind(entry.state) != VisitKind::kIdi) continue;
      found_groups.insert(input.first);
      idis[keys.word(&input.first, input.second, 0)] = {
          entry.finder, pair_of(input.first, input.second, variants, label_bits)};
    }
    for (bool const label_pairs : {false, true}) {
      std::map<std::uint64_t, std::uint64_t> found;
      FindingCounts counts = kind.table.collect_findings(
          {keys, kCut, label_pairs}, threads, [&](std::uint64_t const* records, std::size_t n) {
            for (std::size_t i = 0; i < n; ++i)
              EXPECT_TRUE(found.insert({records[2 * i], records[2 * i + 1]}).second);
          });
      ASSERT_EQ(found.size(), idis.size());
      for (auto const& [key, beside] : found)
        ASSERT_EQ(beside, label_pairs ? idis.at(key).second : idis.at(key).first);
      // The groups of many members are left to whoever sorts them.
      bool const counts_groups = variants <= 16;
      EXPECT_EQ(counts.unique_groups,
                counts_groups ? static_cast<std::int64_t>(found_groups.size()) : kUncounted);
      counts.unique_groups = 0;
      EXPECT_EQ(counts, expected);
    }
  }
}

TEST(VisitTableFindings, AreThoseAmongAllVisits) {
  expect_findings(1ULL << 40, 4, 4, 9000);
  expect_findings(1ULL << 40, 9, 9, 3000);
  expect_findings(1ULL << 40, 3, 6, 9000);
  expect_findings(1ULL << 40, 20, 0, 1000);
  expect_findings(1000, 3, 3, 1000);  // the whole domain: no slot stays free
  expect_findings(90, 9, 9, 90);
}

}  // namespace
}  // namespace fairlane
