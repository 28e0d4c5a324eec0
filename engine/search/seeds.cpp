#include "engine/search/seeds.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/stopwatch.h"
#include "kernels/core/philox.h"
#include "kernels/core/seed_draw.h"
#include "kernels/k_means.h"

namespace fairlane {

namespace {

constexpr std::uint32_t kShuffleDraw = 1;  // draw 0 picks rows with replacement

std::uint32_t draw_below(std::uint32_t number, std::uint32_t draw, std::uint32_t count,
                         std::uint64_t seed) {
  auto const words =
      philox<ScalarPack>(number, static_cast<std::uint32_t>(Phase::kSeeding), 0, draw, seed);
  return below<ScalarPack>(words.w[0], count);
}

}  // namespace

std::string resolved_seeding(RunConfig const& config, MethodSpec const& method,
                             TestSubject const& subject) {
  if (!config.global.seeding.empty()) return config.global.seeding;
  bool const draws = method.kind == SearchKind::kRandom || method.kind == SearchKind::kAdaptive ||
                     method.kind == SearchKind::kExplained;
  if (draws || subject.data() == nullptr) return kUniformSeeding;
  return "round-robin";
}

SeedSource::SeedSource(RunConfig const& config, MethodSpec const& method,
                       TestSubject const& subject, Backend* backend)
    : subject_(subject), run_seed_(config.seed) {
  std::int64_t const wanted =
      std::min(config.global.num, config.budget.seeds.value_or(config.global.num));
  if (subject.seed_rows() != nullptr) {
    table_ = subject.seed_rows();
    count_ = std::min(config.global.num, table_->count());
    count_ = std::min(count_, config.budget.seeds.value_or(count_));
    return;
  }
  std::string const seeding = resolved_seeding(config, method, subject);
  if (seeding == kUniformSeeding) {
    count_ = wanted;
    return;
  }
  if (subject.data() == nullptr || subject.data()->count() == 0) {
    throw Error(ExitCode::kConfig,
                config.source + ": seeding '" + seeding +
                    "' needs rows, but there is no data; give data, or global.seeding: uniform");
  }
  table_ = subject.data();
  count_ = std::min(wanted, table_->count());
  // All rows are seeds: only a queue looks at their order.
  bool const queues =
      method.kind == SearchKind::kSymbolic && config.sg.order != QueueOrder::kProgram;
  if (seeding == "all" || (config.global.num >= table_->count() && !queues)) return;
  Stopwatch const stopwatch;
  round_robin(config, method, *table_, backend);
  cluster_seconds_ = stopwatch.seconds();
}

void SeedSource::round_robin(RunConfig const& config, MethodSpec const& method, Dataset const& data,
                             Backend* backend) {
  RowTable const rows{data.rows.data(), data.count(), data.attributes};
  int const clusters = config.global.clusters;
  auto const cluster = backend != nullptr ? backend->k_means(rows, clusters, run_seed_)
                                          : k_means(rows, clusters, run_seed_, 1);
  std::vector<std::vector<std::int64_t>> members(static_cast<std::size_t>(config.global.clusters));
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    members[static_cast<std::size_t>(cluster[i])].push_back(static_cast<std::int64_t>(i));
  }
  std::erase_if(members, [](auto const& m) { return m.empty(); });
  order_.reserve(static_cast<std::size_t>(count_));
  if (method.seeds_with_replacement) {
    for (std::int64_t i = 0; i < count_; ++i) {
      auto const& m = members[static_cast<std::size_t>(i) % members.size()];
      order_.push_back(m[draw_below(static_cast<std::uint32_t>(i), 0,
                                    static_cast<std::uint32_t>(m.size()), run_seed_)]);
    }
    return;
  }
  // Without replacement: every cluster shuffled (Fisher-Yates), then taken in turn until all seeds
  // are dealt.
  std::uint32_t number = 0;
  for (auto& m : members) {
    for (std::size_t i = m.size(); i > 1; --i) {
      std::swap(m[i - 1],
                m[draw_below(number++, kShuffleDraw, static_cast<std::uint32_t>(i), run_seed_)]);
    }
  }
  for (std::size_t round = 0; static_cast<std::int64_t>(order_.size()) < count_; ++round) {
    for (auto const& m : members) {
      if (round < m.size() && static_cast<std::int64_t>(order_.size()) < count_)
        order_.push_back(m[round]);
    }
  }
}

void SeedSource::place(std::int64_t first, std::int64_t count, LaneBlock& block) const {
  if (table_ == nullptr &&
      block.place_drawn(static_cast<std::uint32_t>(first), static_cast<int>(count)))
    return;
  auto const n = static_cast<std::size_t>(count);
  std::vector<std::uint32_t> numbers(n);
  std::iota(numbers.begin(), numbers.end(), static_cast<std::uint32_t>(first));
  std::vector<std::int32_t> rows_of(n * static_cast<std::size_t>(subject_.domain().size()));
  rows(first, count, rows_of.data());
  block.place(numbers, rows_of.data());
}

void SeedSource::rows(std::int64_t first, std::int64_t count, std::int32_t* out) const {
  int const width = subject_.domain().size();
  for (std::int64_t i = first; i < first + count; ++i, out += width) {
    if (table_ == nullptr) {
      uniform_row(i, out);
      continue;
    }
    std::int64_t const row = order_.empty() ? i : order_[static_cast<std::size_t>(i)];
    std::copy_n(table_->rows.begin() + row * width, width, out);
  }
}

void SeedSource::uniform_row(std::int64_t number, std::int32_t* row) const {
  auto const& view = subject_.view();
  SeedDraw draw(static_cast<std::uint64_t>(number), run_seed_);
  std::size_t next_selected = 0;
  for (std::uint32_t a = 0; a < view.low.size(); ++a) {
    if (next_selected < view.selected.size() &&
        view.selected[next_selected] == static_cast<std::int32_t>(a)) {
      auto const values = view.values[next_selected++];
      row[a] = values[draw.code(a, static_cast<std::uint32_t>(values.size()))];
      continue;
    }
    row[a] = view.code_at(a, draw.code(a, static_cast<std::uint32_t>(view.code_count(a))));
  }
}

}  // namespace fairlane
