#include "engine/record/findings.h"

#include <algorithm>

#include "engine/record/record_sorter.h"

namespace fairlane {
namespace {

constexpr std::uint64_t kKeyMask = (std::uint64_t{1} << kRowKeyBits) - 1;
constexpr std::size_t kBatch = 1U << 14;  // IDIs handed out at once

/// Of a record, whose kind stands in the highest bits of its first word: IDIs sort before
/// everything else.
VisitKind kind_of(std::uint64_t const* record) {
  return static_cast<VisitKind>(record[0] >> kRowKeyBits);
}

}  // namespace

struct Findings::Impl {
  Impl(PackedSubject const& subject, Options chosen)
      : codec(subject),
        constrained(subject.is_constrained()),
        options(std::move(chosen)),
        words(static_cast<std::size_t>(codec.words())),
        records({codec.words(), true, options.dir, "instances", options.memory_limit,
                 options.threads}) {}

  /// record [visits.count][words + 1]
  void encode(Visits const& visits, std::uint64_t* record) const;
  void count_groups();
  /// with_finder: of each group the least
  RecordSorter::Options group_sorter(bool with_finder) const;
  /// Sorts the groups of the IDIs, of which it returns the number.
  std::int64_t sort_groups(RecordSorter& groups) const;
  /// Calls take(record) for the IDIs that count.
  template <class Each>
  void for_each_idi(Each const& each) const;

  RowCodec codec;
  bool constrained;
  Options options;
  std::size_t words;
  RecordSorter records;      // row key with its kind, finder or LabelPair
  bool repeats = false;      // some inputs may come twice: everything is sorted
  bool counted = false;      // by the record; groups perhaps not
  bool label_pairs = false;  // stand where finders do; all of them count
  std::uint64_t cut = 0;
  FindingCounts counts;
};

template <class Each>
void Findings::Impl::for_each_idi(Each const& each) const {
  std::size_t const stride = records.stride();
  records.for_each([&](std::uint64_t const* record, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i, record += stride) {
      if (record[0] > kKeyMask) return false;
      if (label_pairs || record[words] < cut) each(record);
    }
    return true;
  });
}

Findings::Findings(PackedSubject const& subject, Options options)
    : impl_(std::make_unique<Impl>(subject, std::move(options))) {}

Findings::~Findings() = default;

void Findings::Impl::encode(Visits const& visits, std::uint64_t* record) const {
  auto const group_words = static_cast<std::size_t>(visits.words);
  for (std::size_t i = 0; i < visits.count; ++i, record += words + 1) {
    codec.key(visits.group + i * group_words, visits.variant[i], record);
    record[0] |= static_cast<std::uint64_t>(visit_kind(visits.state[i])) << kRowKeyBits;
    record[words] = visits.finder[i];
  }
}

void Findings::add(Visits const& visits) {
  Impl& m = *impl_;
  m.repeats = true;
  m.encode(visits, m.records.append(visits.count));
  m.records.commit(visits.count);
}

void Findings::add_from(VisitRecord& from, std::uint64_t cut, Order const& order) {
  Impl& m = *impl_;
  m.repeats = true;
  std::size_t const size = stride();
  from.collect([&](Visits const& visits) {
    std::uint64_t* const first = m.records.append(visits.count);
    m.encode(visits, first);
    std::uint64_t* to = first;
    for (std::size_t i = 0; i < visits.count; ++i) {
      if (visits.finder[i] >= cut) continue;
      to = std::copy_n(first + i * size, size, to);
      *(to - 1) = order(visits.finder[i]);
    }
    m.records.commit(static_cast<std::size_t>(to - first) / size);
  });
}

void Findings::save(VisitRecord& from, TakeRecords const& take) {
  Impl& m = *impl_;
  std::vector<std::uint64_t> records;
  from.collect([&](Visits const& visits) {  // first: what has no room left there is added here
    records.resize(visits.count * stride());
    m.encode(visits, records.data());
    take(records.data(), visits.count);
  });
  m.records.for_each_so_far(take);
}

void Findings::for_each_visit(VisitRecord& from, TakeVisit const& take) {
  std::vector<std::uint64_t> key(impl_->words);
  save(from, [&](std::uint64_t const* record, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i, record += stride()) {
      std::copy_n(record, key.size(), key.begin());
      key[0] &= kKeyMask;
      take(key.data(), record[key.size()]);
    }
  });
}

void Findings::restore(std::uint64_t const* records, std::size_t count) {
  Impl& m = *impl_;
  m.repeats = true;
  std::copy_n(records, count * stride(), m.records.append(count));
  m.records.commit(count);
}

std::size_t Findings::stride() const { return impl_->records.stride(); }

void Findings::collect(VisitRecord& from, std::uint64_t cut) {
  Impl& m = *impl_;
  if (!m.repeats) {
    m.records.expect(from.instances());
    bool const label_pairs = m.options.label_pairs && from.knows_label_pairs();
    auto const counted = from.collect_findings(
        {m.codec.keys(), cut, label_pairs}, [&](std::uint64_t const* records, std::size_t n) {
          std::copy_n(records, n * stride(), m.records.append(n));
          m.records.commit(n);
        });
    m.counted = counted.has_value();
    if (m.counted) {
      m.counts = *counted;
      m.label_pairs = label_pairs;
      return;
    }
  }
  from.collect([&](Visits const& visits) { add_distinct(visits, cut); });
}

void Findings::add_distinct(Visits const& visits, std::uint64_t cut) {
  Impl& m = *impl_;
  if (m.repeats) {
    add(visits);
    return;
  }
  auto const group_words = static_cast<std::size_t>(visits.words);
  std::uint64_t* const first = m.records.append(visits.count);
  std::uint64_t* record = first;
  for (std::size_t i = 0; i < visits.count; ++i) {
    if (visits.finder[i] >= cut) continue;
    VisitKind const kind = visit_kind(visits.state[i]);
    m.counts.count(kind);
    if (kind != VisitKind::kIdi) continue;
    m.codec.key(visits.group + i * group_words, visits.variant[i], record);
    record[m.words] = visits.finder[i];
    record += m.words + 1;
  }
  m.records.commit(static_cast<std::size_t>(record - first) / (m.words + 1));
}

void Findings::finish(std::uint64_t cut) {
  Impl& m = *impl_;
  m.cut = cut;
  m.records.finish();
  if (m.repeats) {
    std::size_t const stride = m.records.stride();
    m.records.for_each([&](std::uint64_t const* record, std::size_t n) {
      for (std::size_t i = 0; i < n; ++i, record += stride) {
        if (record[m.words] < cut) m.counts.count(kind_of(record));
      }
      return true;
    });
  }
  if (!m.counted || m.counts.unique_groups == kUncounted) m.count_groups();
}

RecordSorter::Options Findings::Impl::group_sorter(bool with_finder) const {
  // The records, sorted and half the limit at most, stay in memory meanwhile.
  return {codec.words(),  with_finder, options.dir, "groups", options.memory_limit / 2,
          options.threads};
}

std::int64_t Findings::Impl::sort_groups(RecordSorter& groups) const {
  std::int64_t instances = 0;
  std::size_t const size = groups.stride();
  bool const with_finder = size > words;
  std::uint64_t* to = nullptr;
  std::size_t room = 0;
  std::size_t used = 0;
  for_each_idi([&](std::uint64_t const* record) {
    ++instances;
    if (used == room) {
      if (room > 0) groups.commit(used);
      room = kBatch;
      used = 0;
      to = groups.append(room);
    }
    codec.group_of_key(record, to);
    if (with_finder) to[words] = record[words];
    // Neighbours often share a group; no need to sort it twice.
    std::size_t same = 0;
    while (used > 0 && same < words && to[same] == *(to + same - size)) ++same;
    if (same == words) {
      if (with_finder) *(to - 1) = std::min(*(to - 1), record[words]);
      return;
    }
    to += size;
    ++used;
  });
  if (room > 0) groups.commit(used);
  groups.finish();
  return instances;
}

void Findings::Impl::count_groups() {
  RecordSorter groups(group_sorter(false));
  counts.unique_instances = sort_groups(groups);
  counts.unique_groups = 0;
  groups.for_each([&](std::uint64_t const*, std::size_t n) {
    counts.unique_groups += static_cast<std::int64_t>(n);
    return true;
  });
}

void Findings::for_each_group(TakeRows const& take) const {
  Impl const& m = *impl_;
  RecordSorter groups(m.group_sorter(false));
  m.sort_groups(groups);
  auto const width = static_cast<std::size_t>(m.codec.attributes());
  std::vector<std::int32_t> rows;
  groups.for_each([&](std::uint64_t const* keys, std::size_t n) {
    for (std::size_t first = 0; first < n; first += kBatch) {
      std::size_t const count = std::min(kBatch, n - first);
      rows.resize(count * width);
      for (std::size_t i = 0; i < count; ++i)
        m.codec.row_of_key(keys + (first + i) * m.words, &rows[i * width]);
      take(rows.data(), count);
    }
    return true;
  });
}

void Findings::for_each_first_finder(TakeFinders const& take) const {
  Impl const& m = *impl_;
  RecordSorter groups(m.group_sorter(true));
  m.sort_groups(groups);
  std::vector<std::uint64_t> finders;
  groups.for_each([&](std::uint64_t const* records, std::size_t n) {
    finders.clear();
    for (std::size_t i = 0; i < n; ++i) finders.push_back(records[i * groups.stride() + m.words]);
    take(finders.data(), n);
    return true;
  });
}

void Findings::add_counts(FindingCounts const& others) { impl_->counts.add(others); }

FindingCounts Findings::counts() const {
  return impl_->constrained ? impl_->counts.of_feasible() : impl_->counts;
}

bool Findings::has_label_pairs() const { return impl_->label_pairs; }

RowCodec const& Findings::codec() const { return impl_->codec; }

void Findings::for_each_key(TakeKeys const& take) const {
  Impl const& m = *impl_;
  std::vector<std::uint64_t> keys(kBatch * m.words);
  std::vector<std::uint64_t> finders(kBatch);
  std::size_t n = 0;
  m.for_each_idi([&](std::uint64_t const* record) {
    for (std::size_t w = 0; w < m.words; ++w) keys[n * m.words + w] = record[w];
    finders[n] = record[m.words];
    if (++n == kBatch) {
      take(keys.data(), finders.data(), n);
      n = 0;
    }
  });
  if (n > 0) take(keys.data(), finders.data(), n);
}

void Findings::for_each(Take const& take) const {
  Impl const& m = *impl_;
  auto const width = static_cast<std::size_t>(m.codec.attributes());
  std::vector<std::int32_t> rows;
  for_each_key([&](std::uint64_t const* keys, std::uint64_t const* finders, std::size_t n) {
    rows.resize(n * width);
    for (std::size_t i = 0; i < n; ++i) m.codec.row_of_key(keys + i * m.words, &rows[i * width]);
    take(rows.data(), finders, n);
  });
}

}  // namespace fairlane
