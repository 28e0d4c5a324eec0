// The CPU backend: one subject, one table of visited inputs, blocks for as many
// threads as asked for.

#include <algorithm>
#include <string>

#include "base/error.h"
#include "kernels/backend.h"
#include "kernels/cpu/cpu_block.h"
#include "kernels/cpu/cpu_boxes.h"
#include "kernels/cpu/cpu_walk.h"
#include "kernels/k_means.h"

namespace fairlane {

namespace {

constexpr int kDefaultLanes = 1024;  // about half a megabyte of state for a
                                     // small network: the second-level cache

class CpuBackend final : public Backend {
 public:
  CpuBackend(std::unique_ptr<PackedSubject> subject, LaneKernels const& kernels,
             CpuOptions const& options)
      : subject_(std::move(subject)),
        kernels_(kernels),
        options_(options),
        record_(make_cpu_record(*subject_, options.memory_limit, options.threads)) {
    overflow_.sink = options.overflow;
    if (!overflow_.sink) {
      overflow_.sink = [](Visits const&) {
        throw Error(ExitCode::kMemory, "the record of visited inputs is full");
      };
    }
  }

  std::string name() const override {
    return std::string("cpu (") + kernels_.isa + ", " + std::to_string(options_.threads) +
           (options_.threads == 1 ? " thread)" : " threads)");
  }
  PackedSubject const& subject() const override { return *subject_; }
  Arithmetic arithmetic() const override { return Arithmetic::kExact; }
  int concurrency() const override { return options_.threads; }
  bool on_host() const override { return true; }

  int block_lanes(std::int64_t lanes) const override {
    if (options_.lanes > 0) return options_.lanes;
    // Equal shares for all threads, none larger than what stays in cache.
    std::int64_t const threads = options_.threads;
    std::int64_t const rounds = std::max<std::int64_t>(
        1, (lanes + threads * kDefaultLanes - 1) / (threads * kDefaultLanes));
    std::int64_t const share = (lanes + threads * rounds - 1) / (threads * rounds);
    return static_cast<int>(std::clamp<std::int64_t>(share, 1, kDefaultLanes));
  }

  std::unique_ptr<LaneBlock> make_block(int capacity, Phase phase) override {
    return std::make_unique<CpuBlock>(*subject_, kernels_, *record_, overflow_, options_.seed,
                                      capacity, phase);
  }

  std::uint64_t visited() const override { return record_->size(); }
  std::uint64_t instances() const override { return record_->hits(); }
  std::uint64_t table_bytes() const override { return record_->bytes(); }
  bool overflowed() const override { return overflow_.used.load(std::memory_order_relaxed); }
  void collect(VisitSink const& sink) override { record_->collect(sink); }
  bool knows_label_pairs() const override { return record_->holds_labels(); }
  std::optional<FindingCounts> collect_findings(FindingQuery const& query,
                                                TakeRecords const& take) override {
    if (overflowed()) return std::nullopt;
    return record_->collect_findings(query, options_.threads, take);
  }
  void reserve(double inputs) override { record_->reserve(inputs); }

  std::unique_ptr<Walker> make_walker(std::vector<ValueList> lists) override {
    return make_cpu_walker(*subject_, kernels_, std::move(lists));
  }
  std::unique_ptr<BoxBatch> make_box_batch(BoundNetwork const& network) override {
    return make_cpu_box_batch(network, kernels_.isa);
  }

  void describe(std::int32_t const* rows, std::size_t count, Description* out) override {
    Batch batch(*subject_, kernels_);
    LaneArray<std::int32_t> label(1, kBatch);
    LaneArray<std::int32_t> pair(1, kBatch);
    LaneArray<std::int32_t> partner(1, kBatch);
    LaneArray<std::uint32_t> packed(1, kBatch);
    LaneArray<std::int32_t> flags(1, kBatch);
    LaneArray<float> values(3, kBatch);
    int const columns = subject_->get().columns;
    for (std::size_t begin = 0; begin < count; begin += kBatch) {
      int const n = static_cast<int>(std::min<std::size_t>(kBatch, count - begin));
      batch.load(rows + static_cast<std::ptrdiff_t>(begin) * columns, n);
      kernels_.probe(subject_->get(), batch.x.data(), kBatch, n, batch.scratch.get(),
                     {label.data(), pair.data(), partner.data(), packed.data(), flags.data(),
                      values.row(0), values.row(1), values.row(2)});
      for (int i = 0; i < n; ++i) {
        auto& d = out[begin + static_cast<std::size_t>(i)];
        d.label = label[i];
        d.pair_variant = pair[i];
        d.score = values(0, i);
        d.pair_score = values(1, i);
        d.severity = values(2, i);
        d.pair_label = d.label;
      }
      // the pair's label: evaluate the pairs themselves
      int const selected = subject_->get().selected;
      for (int s = 0; s < selected; ++s) {
        std::int32_t* x = batch.x.row(subject_->get().selected_column[s]);
        for (int i = 0; i < n; ++i) {
          if (pair[i] >= 0) x[i] = subject_->variant_place(pair[i], s);
        }
      }
      kernels_.logits(subject_->get(), batch.x.data(), kBatch, n, batch.scratch.get(),
                      batch.logits.data(), kBatch);
      for (int i = 0; i < n; ++i) {
        if (pair[i] < 0) continue;
        out[begin + static_cast<std::size_t>(i)].pair_label =
            label_of<ScalarPack>(batch.logits.data() + i, subject_->get().network.outputs(), kBatch,
                                 subject_->get().threshold);
      }
    }
  }

  void logits(std::int32_t const* rows, std::size_t count, float* out) override {
    Batch batch(*subject_, kernels_);
    auto const& s = subject_->get();
    int const outputs = s.network.outputs();
    for (std::size_t begin = 0; begin < count; begin += kBatch) {
      int const n = static_cast<int>(std::min<std::size_t>(kBatch, count - begin));
      batch.load(rows + static_cast<std::ptrdiff_t>(begin) * s.columns, n);
      kernels_.logits(s, batch.x.data(), kBatch, n, batch.scratch.get(), batch.logits.data(),
                      kBatch);
      for (int i = 0; i < n; ++i) {
        for (int c = 0; c < outputs; ++c) {
          out[(begin + static_cast<std::size_t>(i)) * static_cast<std::size_t>(outputs) +
              static_cast<std::size_t>(c)] = batch.logits(c, i);
        }
      }
    }
  }

  std::vector<std::int32_t> k_means(RowTable const& rows, int clusters,
                                    std::uint64_t seed) override {
    return fairlane::k_means(rows, clusters, seed, options_.threads);
  }

 private:
  static constexpr int kBatch = 256;

  /// Rows in kernel order and memory to evaluate them.
  struct Batch {
    Batch(PackedSubject const& subject, LaneKernels const& kernels)
        : packed(subject),
          x(subject.get().columns, kBatch),
          logits(subject.get().network.outputs(), kBatch),
          scratch(subject.get(), kernels.tile_lanes) {}

    void load(std::int32_t const* rows, int n) {
      int const columns = packed.get().columns;
      for (int c = 0; c < columns; ++c) {
        int const a = packed.attribute_of()[static_cast<std::size_t>(c)];
        for (int i = 0; i < n; ++i)
          x(c, i) = packed.place_of(c, rows[static_cast<std::ptrdiff_t>(i) * columns + a]);
      }
    }

    PackedSubject const& packed;
    LaneArray<std::int32_t> x;
    LaneArray<float> logits;
    ScratchMemory scratch;
  };

  std::unique_ptr<PackedSubject> subject_;
  LaneKernels const& kernels_;
  CpuOptions options_;
  OverflowSink overflow_;
  std::unique_ptr<CpuRecord> record_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(SubjectView const& view, CpuOptions const& options) {
  LaneKernels const& kernels = select_kernels(options.isa.c_str());
  auto subject = std::make_unique<PackedSubject>(view, kernels.tile_outputs);
  constexpr int kMostOrdered = 4096;  // ordering more would take longer than it saves
  if (stages_classification(subject->get()) && subject->get().variants <= kMostOrdered) {
    subject->set_variant_order(separating_order(*subject, kernels));
  }
  return std::make_unique<CpuBackend>(std::move(subject), kernels, options);
}

}  // namespace fairlane
