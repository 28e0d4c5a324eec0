// Scores from a scorer on the host: rows go down, scores come up.

#include <algorithm>

#include "base/error.h"
#include "kernels/device/score_source.h"

namespace fairlane {

namespace {

class ScorerSource final : public ScoreSource {
 public:
  ScorerSource(Subject const& subject, ColumnMap const& columns, Device& device,
               SharedScorer& scorer)
      : subject_(subject), columns_(columns), device_(device), scorer_(scorer) {}

  void score(LaneChunk const& chunk, Members const& members, int most_rows, Arithmetic,
             float* workspace, float* scores) override {
    int const outputs = subject_.network.outputs();
    WorkspaceCarver memory(workspace);
    float* const rows = memory.take(subject_.inputs, most_rows);
    float* const answers = memory.take(outputs, most_rows);
    LoadMembers load{subject_, chunk, members.kind, members.first, 0,           subject_.columns, 0,
                     rows,     0,     members.step, members.lot,   members.pair};
    int const all = chunk.lanes * members.count;
    for (load.first_row = 0; load.first_row < all; load.first_row += most_rows) {
      int const n = std::min(most_rows, all - load.first_row);
      device_.run(LoadRows{load, columns_.model_input}, {n, nullptr});
      // A single output's answers already lie as stored scores do.
      float* const to = outputs == 1 ? scores + load.first_row : answers;
      ask(rows, static_cast<std::size_t>(n), to);
      if (outputs == 1) continue;
      device_.run(StoreScores{answers, outputs, chunk.lanes, load.first_row, scores}, {n, nullptr});
    }
  }

  void backpropagate(GradientTiles const&, LaneChunk const&, Arithmetic, float*, float*) override {
    throw Error(ExitCode::kBug, scorer_.name() + ": has no gradients, but was asked for them");
  }

 private:
  /// rows, scores: on the device
  void ask(float const* rows, std::size_t count, float* scores) {
    if (device_.on_host()) {
      device_.synchronize();
      scorer_.score(rows, count, scores);
      return;
    }
    auto const outputs = static_cast<std::size_t>(scorer_.outputs());
    host_rows_.resize(count * static_cast<std::size_t>(scorer_.inputs()));
    host_scores_.resize(count * outputs);
    device_.download(host_rows_.data(), rows, host_rows_.size() * sizeof(float));
    scorer_.score(host_rows_.data(), count, host_scores_.data());
    device_.upload(scores, host_scores_.data(), host_scores_.size() * sizeof(float));
  }

  Subject subject_;  // on the device
  ColumnMap columns_;
  Device& device_;
  SharedScorer& scorer_;
  std::vector<float> host_rows_;
  std::vector<float> host_scores_;
};

}  // namespace

std::unique_ptr<ScoreSource> make_scorer_source(Subject const& subject, ColumnMap const& columns,
                                                Device& device, SharedScorer& scorer) {
  return std::make_unique<ScorerSource>(subject, columns, device, scorer);
}

}  // namespace fairlane
