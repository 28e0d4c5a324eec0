#include "kernels/cpu/cpu_record.h"

#include <type_traits>
#include <utility>

#include "kernels/cpu/wide_visit_table.h"

namespace fairlane {

namespace {

/// A table as a CpuRecord.
template <class Table>
class TableRecord final : public CpuRecord {
 public:
  template <class... Arguments>
  explicit TableRecord(Arguments... arguments) : table_(arguments...) {}

  bool holds_labels() const override { return table_.holds_labels(); }
  std::uint64_t size() const override { return table_.size(); }
  std::uint64_t hits() const override { return table_.hits(); }
  std::uint64_t bytes() const override { return table_.bytes(); }
  void collect(VisitSink const& sink) const override { table_.collect(sink); }
  std::optional<FindingCounts> collect_findings(FindingQuery const& query, int threads,
                                                TakeRecords const& take) const override {
    if constexpr (kNarrow) return table_.collect_findings(query, threads, take);
    return std::nullopt;
  }
  void reserve(double inputs) override { table_.reserve(inputs); }
  std::unique_ptr<Round> round(std::uint64_t inserts) override {
    return std::make_unique<TableRound>(table_, inserts);
  }

 private:
  using Key = typename Table::Key;
  static constexpr bool kNarrow = std::is_integral_v<Key>;  // a group's key is one word

  class TableRound final : public Round {
   public:
    TableRound(Table& table, std::uint64_t inserts) : table_(table), use_(table, inserts) {}
    bool writable() const override { return use_.writable(); }

    void find(LaneKernels const& kernels, LaneVisits const& visits, std::int32_t* hit,
              std::uint32_t* labels, VisitAnswers& answers) override {
      answers.siblings.clear();
      answers.unknown.clear();
      VisitQuery const query{visits.home, visits.group,     visits.variant,
                             visits.seed, visits.iteration, Finder::pack(visits.phase, 0, 0)};
      if constexpr (kNarrow) {
        table_.find_many(kernels, 0, visits.count, query, hit, labels, answers);
      } else {
        table_.find_many(0, visits.count, query, visits.stride, hit, labels, answers);
      }
    }

    void list_unseen(LaneVisits const& visits, VisitAnswers& answers) override {
      answers.unknown.clear();
      for (long i = 0; i < visits.count; ++i) {
        visits.home[i] = table_.home(key_of(visits, i), visits.variant[i]);
        table_.prefetch(visits.home[i]);
      }
      for (std::int32_t i = 0; i < visits.count; ++i) {
        auto const home = visits.home[i];
        if (table_.find(home, key_of(visits, i), visits.variant[i], visits.finder(i)).seen)
          continue;
        answers.place[static_cast<std::size_t>(i)] = home;
        answers.unknown.push_back(i);
      }
    }

    void insert(LaneVisits const& visits, std::int32_t const* list, int n,
                std::uint32_t const* labels, std::uint32_t const* flags,
                VisitAnswers const& answers) override {
      // What was done since they were looked up may have pushed them out.
      for (int k = 0; k < n; ++k) table_.prefetch(answers.place[static_cast<std::size_t>(list[k])]);
      for (int k = 0; k < n; ++k) {
        std::int32_t const lane = list[k];
        table_.insert(use_, answers.place[static_cast<std::size_t>(lane)], key_of(visits, lane),
                      visits.variant[lane], labels[lane], flags[k], visits.finder(lane));
      }
    }

   private:
    static Key key_of(LaneVisits const& visits, long lane) {
      if constexpr (kNarrow) {
        return visits.group[lane];
      } else {
        return {visits.group + lane, visits.stride};
      }
    }

    Table& table_;
    typename Table::Use use_;
  };

  Table table_;
};

}  // namespace

std::unique_ptr<CpuRecord> make_cpu_record(PackedSubject const& subject, std::uint64_t limit_bytes,
                                           int threads) {
  auto const& keys = subject.keys();
  if (keys.words > 1) return std::make_unique<TableRecord<WideVisitTable>>(keys.words, limit_bytes);
  int const variants = subject.get().variants;
  return std::make_unique<TableRecord<VisitTable>>(
      keys.narrow_groups, variants, subject.get().label_bits * variants, limit_bytes, threads);
}

}  // namespace fairlane
