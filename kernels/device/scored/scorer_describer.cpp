#include "kernels/device/scored/scorer_describer.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "kernels/device/wide_kernels.h"
#include "kernels/device/wide_plan.h"

namespace fairlane {

namespace {

/// Rows whose similar sets are scored together, and memory for that.
class Group {
 public:
  Group(PackedSubject const& packed, int lanes)
      : packed_(packed),
        s_(packed.get()),
        outputs_(s_.network.outputs()),
        lanes_(lanes),
        row_(static_cast<std::size_t>(s_.columns)),
        member_rows_(cells(s_.variants, s_.inputs)),
        answers_(cells(s_.variants, outputs_)),
        scores_(answers_.size()),
        terms_(cells(6, outputs_)) {}

  void describe(SharedScorer& scorer, std::int32_t const* rows, int n, Description* out) {
    load(rows, n);
    auto const members = static_cast<std::size_t>(s_.variants) * static_cast<std::size_t>(n);
    scorer.score(member_rows_.data(), members, answers_.data());
    StoreScores const store{answers_.data(), outputs_, lanes_, 0, scores_.data()};
    for (int v = 0; v < s_.variants; ++v) {
      // of variant v, whose rows lie without a gap
      StoreScores part = store;
      part.from += static_cast<std::ptrdiff_t>(v) * n * outputs_;
      part.first_row = v * lanes_;
      for (int i = 0; i < n; ++i) part(i);
    }
    if (s_.feasible.rules > 0) drop_infeasible(rows, n);
    for (int i = 0; i < n; ++i) out[i] = describe_lane(rows + std::ptrdiff_t{i} * s_.columns, i);
  }

 private:
  std::size_t cells(int members, int width) const {
    return static_cast<std::size_t>(members) * static_cast<std::size_t>(width) *
           static_cast<std::size_t>(lanes_);
  }

  /// Every variant of every row: member_rows [variants][n][inputs].
  void load(std::int32_t const* rows, int n) {
    float* to = member_rows_.data();
    for (int v = 0; v < s_.variants; ++v) {
      for (int i = 0; i < n; ++i, to += s_.inputs) {
        std::copy_n(rows + std::ptrdiff_t{i} * s_.columns, s_.columns, row_.data());
        packed_.set_variant(v, row_.data());
        packed_.encode(row_.data(), to);
      }
    }
  }

  void drop_infeasible(std::int32_t const* rows, int n) {
    for (int i = 0; i < n; ++i) {
      std::copy_n(rows + std::ptrdiff_t{i} * s_.columns, s_.columns, row_.data());
      for (int v = 0; v < s_.variants; ++v) {
        packed_.set_variant(v, row_.data());
        Feasible<ScalarPack>::drop_all(packed_.exists(row_.data()),
                                       scores_.data() + std::ptrdiff_t{v} * outputs_ * lanes_ + i,
                                       outputs_, lanes_);
      }
    }
  }

  Description describe_lane(std::int32_t const* row, int lane) {
    int const own = packed_.variant_of(row);
    if (own < 0) throw Error(ExitCode::kBug, "a row to describe has values that are not compared");
    StoredLogits const scores{scores_.data() + lane, lanes_, outputs_, 0, own};
    // The probe turns scores into probabilities: labels come first.
    std::vector<std::int32_t> label(static_cast<std::size_t>(s_.variants));
    for (int v = 0; v < s_.variants; ++v) {
      label[static_cast<std::size_t>(v)] =
          label_of<ScalarPack>(scores.variant(v), outputs_, lanes_, s_.threshold);
    }
    Description d;
    std::int32_t partner = 0;
    std::uint32_t packed_labels = 0;
    std::int32_t flags = 0;
    LaneTiles<ScalarPack, 1>::probe_by(s_, scores, 1, terms_.data() + lane,
                                       {&d.label, &d.pair_variant, &partner, &packed_labels, &flags,
                                        &d.score, &d.pair_score, &d.severity});
    if (!packed_.may_be_finding(row)) {
      d.label = kUndefinedLabel;
      d.pair_variant = -1;
    }
    d.pair_label = d.pair_variant < 0 ? d.label : label[static_cast<std::size_t>(d.pair_variant)];
    return d;
  }

  PackedSubject const& packed_;
  Subject const& s_;
  int outputs_;
  int lanes_;
  std::vector<std::int32_t> row_;
  std::vector<float> member_rows_;
  std::vector<float> answers_;  // [variants][n][outputs]
  std::vector<float> scores_;   // [variants][outputs][lanes]
  std::vector<float> terms_;
};

}  // namespace

void describe_rows(PackedSubject const& subject, SharedScorer& scorer, std::int32_t const* rows,
                   std::size_t count, Description* out) {
  auto const fit = static_cast<std::size_t>(kScorerRows / subject.get().variants);
  std::size_t const lanes = std::min(count, std::max<std::size_t>(1, fit));
  if (lanes == 0) return;
  Group group(subject, static_cast<int>(lanes));
  for (std::size_t at = 0; at < count; at += lanes) {
    auto const n = static_cast<int>(std::min(lanes, count - at));
    group.describe(scorer, rows + at * static_cast<std::size_t>(subject.get().columns), n,
                   out + at);
  }
}

void score_rows(PackedSubject const& subject, SharedScorer& scorer, std::int32_t const* rows,
                std::size_t count, float* out) {
  auto const columns = static_cast<std::size_t>(subject.get().columns);
  auto const outputs = static_cast<std::size_t>(subject.get().network.outputs());
  auto const most = static_cast<std::size_t>(kScorerRows);
  auto const inputs = static_cast<std::size_t>(subject.get().inputs);
  std::vector<float> floats(std::min(count, most) * inputs);
  for (std::size_t at = 0; at < count; at += most) {
    std::size_t const n = std::min(most, count - at);
    for (std::size_t i = 0; i < n; ++i)
      subject.encode(rows + (at + i) * columns, &floats[i * inputs]);
    scorer.score(floats.data(), n, out + at * outputs);
  }
}

}  // namespace fairlane
