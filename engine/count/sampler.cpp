#include "engine/count/sampler.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "kernels/core/philox.h"

namespace fairlane {
namespace {

constexpr std::int64_t kBatch = 1 << 15;           // samples drawn and evaluated at once
constexpr std::uint32_t kOrderDraw = 0xFFFFFFFFU;  // of the rows' order; the others number lists

/// A number below `size` from a sample's words.
std::int64_t below_size(std::uint64_t sample, std::uint32_t draw, std::int64_t size,
                        std::uint64_t seed) {
  auto const words = philox<ScalarPack>(static_cast<std::uint32_t>(sample),
                                        static_cast<std::uint32_t>(Phase::kSample),
                                        static_cast<std::uint32_t>(sample >> 32), draw, seed);
  std::uint64_t const random = static_cast<std::uint64_t>(words.w[0]) << 32 | words.w[1];
  // The high half of random * size, in 32-bit parts; its bias is below size / 2^64.
  auto const range = static_cast<std::uint64_t>(size);
  std::uint64_t const low = (random & 0xFFFFFFFFU) * (range & 0xFFFFFFFFU);
  std::uint64_t const a = (random >> 32) * (range & 0xFFFFFFFFU);
  std::uint64_t const b = (random & 0xFFFFFFFFU) * (range >> 32);
  std::uint64_t const middle = (low >> 32) + (a & 0xFFFFFFFFU) + (b & 0xFFFFFFFFU);
  return static_cast<std::int64_t>((random >> 32) * (range >> 32) + (a >> 32) + (b >> 32) +
                                   (middle >> 32));
}

Workload workload(TestSubject const& subject, Region const& region, double samples) {
  bool const all_rows = region.rows && subject.data() != nullptr;
  double const groups = all_rows ? static_cast<double>(subject.data()->count()) : samples;
  return walk_workload(groups, subject.variants(), kBatch);
}

}  // namespace

SampledHits Samples::input_hits() const {
  if (is_constrained) return {{hits, hits}, inputs};
  return {{hits, group_hits().hits.possible}, inputs};
}

SampledHits Samples::group_hits() const {
  if (counts.counters.empty()) return {};
  FeasibleCounts const existing = feasible();
  std::int64_t const known = counts.discriminatory();
  return {{known, known + existing.undefined_groups}, existing.groups};
}

void Samples::add(Samples const& more) {
  sampled += more.sampled;
  inputs += more.inputs;
  hits += more.hits;
  is_constrained = is_constrained || more.is_constrained;
  if (counts.counters.empty()) {
    counts = more.counts;
  } else if (!more.counts.counters.empty()) {
    counts.add(more.counts);
  }
  if (layout.variants == 0) layout = more.layout;
}

Sampler::Sampler(RunConfig const& config, Execution const& execution, Region const& region,
                 double samples)
    : subject_(unlimited(config, "estimate"), execution.model),
      execution_(weighed(execution, subject_, workload(subject_, region, samples))),
      backend_(make_backend(subject_, execution_, config.seed, {})),
      takes_rows_(region.rows),
      lists_(region.rows ? std::vector<ValueList>{} : region_lists(subject_, region)),
      rows_(region.rows ? rows_within(subject_, region) : std::vector<std::int64_t>{}),
      threads_(thread_count(execution)),
      seed_(config.seed) {
  // So that those before any end are a sample of all.
  for (std::size_t i = rows_.size(); i > 1; --i) {
    auto const other = below_size(i, kOrderDraw, static_cast<std::int64_t>(i), seed_);
    std::swap(rows_[i - 1], rows_[static_cast<std::size_t>(other)]);
  }
}

double Sampler::groups() const {
  double product = 1.0;
  for (auto const& list : lists_) product *= static_cast<double>(list.size());
  return product;
}

ValueList Sampler::drawn(std::int64_t begin, std::int64_t count) const {
  ValueList all;
  for (auto const& list : lists_)
    all.attributes.insert(all.attributes.end(), list.attributes.begin(), list.attributes.end());
  all.values.reserve(static_cast<std::size_t>(count) * all.attributes.size());
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::size_t l = 0; l < lists_.size(); ++l) {
      auto const& list = lists_[l];
      std::int64_t const entry = below_size(static_cast<std::uint64_t>(begin + i),
                                            static_cast<std::uint32_t>(l), list.size(), seed_);
      auto const from =
          list.values.begin() +
          static_cast<std::ptrdiff_t>(static_cast<std::size_t>(entry) * list.attributes.size());
      all.values.insert(all.values.end(), from,
                        from + static_cast<std::ptrdiff_t>(list.attributes.size()));
    }
  }
  return all;
}

ValueList Sampler::listed(std::int64_t begin, std::int64_t count) const {
  Dataset const& data = *subject_.data();
  auto const& tested = subject_.selected();
  ValueList list;
  for (int a = 0; a < data.attributes; ++a) {
    if (std::find(tested.begin(), tested.end(), a) == tested.end()) list.attributes.push_back(a);
  }
  for (std::int64_t i = begin; i < begin + count; ++i) {
    std::int64_t const row = rows_[static_cast<std::size_t>(i)];
    for (int const a : list.attributes)
      list.values.push_back(data.rows[static_cast<std::size_t>(row * data.attributes + a)]);
  }
  return list;
}

Samples Sampler::evaluate(ValueList list, Sample const& sample) {
  PackedSubject const& packed = backend_->subject();
  auto const width = static_cast<std::size_t>(packed.get().columns);
  std::vector<ValueList> lists;
  lists.push_back(std::move(list));
  auto const walker = backend_->make_walker(std::move(lists));
  Samples samples;
  samples.counts = GroupCounts(walker->plan());
  samples.layout = walker->plan().counters();
  GroupCounter counter(*walker);
  // Of a discriminatory group with undefined members, the sampled input may be one of those.
  std::vector<std::int32_t> mixed;
  GroupCounter::Take take;
  if (sample && !packed.get().finite) {
    take = [&](std::int64_t group) {
      mixed.resize(mixed.size() + width);
      sample(walker->plan(), group, mixed.data() + (mixed.size() - width));
    };
  }
  std::int64_t const heads = walker->plan().get().heads;
  for (std::int64_t first = 0; first < heads; first += walker->chunk())
    counter.count(first, std::min(walker->chunk(), heads - first), samples.counts, take);
  samples.counts.list_groups.clear();  // by sample: of no interest
  samples.sampled = samples.inputs = samples.counts.groups;
  samples.hits = take ? count_hits(mixed) : samples.counts.discriminatory();
  samples.is_constrained = packed.is_constrained();
  if (!sample || !samples.is_constrained) return samples;
  std::vector<std::int32_t> row(width);
  for (std::int64_t group = 0; group < samples.sampled; ++group) {
    sample(walker->plan(), group, row.data());
    if (!subject_.constraints().allows(row.data())) --samples.inputs;
  }
  return samples;
}

Samples Sampler::evaluate_drawn(std::int64_t begin, std::int64_t count) {
  PackedSubject const& packed = backend_->subject();
  auto const batch = static_cast<std::uint32_t>(begin / kBatch);
  auto const sample = [&](WalkPlan const& plan, std::int64_t group, std::int32_t* row) {
    plan.row(group, row);
    auto const variant =
        below_size(static_cast<std::uint64_t>(group), batch, packed.get().variants, ~seed_);
    packed.set_variant(static_cast<int>(variant), row);
  };
  return evaluate(drawn(begin, count), sample);
}

Samples Sampler::evaluate_rows(std::int64_t begin, std::int64_t count) {
  Samples samples = evaluate(listed(begin, count), {});
  if (backend_->subject().get().finite) return samples;
  Dataset const& data = *subject_.data();
  std::vector<std::int32_t> rows;
  for (std::int64_t i = begin; i < begin + count; ++i) {
    auto const row = data.rows.begin() + rows_[static_cast<std::size_t>(i)] * data.attributes;
    rows.insert(rows.end(), row, row + data.attributes);
  }
  samples.hits = count_hits(rows);
  return samples;
}

std::int64_t Sampler::count_hits(std::vector<std::int32_t> const& rows) {
  std::size_t const width = static_cast<std::size_t>(backend_->subject().get().columns);
  std::vector<Description> descriptions(kDescribedAtOnce);
  std::int64_t hits = 0;
  for (std::size_t at = 0; at < rows.size(); at += kDescribedAtOnce * width) {
    std::size_t const n = std::min(kDescribedAtOnce, (rows.size() - at) / width);
    backend_->describe(&rows[at], n, descriptions.data());
    hits +=
        std::count_if(descriptions.begin(), descriptions.begin() + static_cast<std::ptrdiff_t>(n),
                      [](Description const& d) { return d.pair_variant >= 0; });
  }
  return hits;
}

Samples Sampler::take_batch(std::int64_t begin, std::int64_t count) {
  return takes_rows_ ? evaluate_rows(begin, count) : evaluate_drawn(begin, count);
}

Samples Sampler::draw(std::int64_t begin, std::int64_t end, Pauses const& pauses,
                      Take const& take) {
  std::atomic<std::int64_t> next{begin};
  std::mutex lock;
  Samples sum;
  pool_.run(threads_, [&](int) {
    try {
      while (next < end && !pauses()) {
        // Every batch that is begun is finished: those taken are the first ones.
        std::int64_t const first = next.fetch_add(kBatch);
        if (first >= end) return;
        Samples const samples = take_batch(first, std::min(kBatch, end - first));
        std::lock_guard const guard(lock);
        sum.add(samples);
        take(samples);
      }
    } catch (...) {
      next = end;
      throw;
    }
  });
  return sum;
}

}  // namespace fairlane
