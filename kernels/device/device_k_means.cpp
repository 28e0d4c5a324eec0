#include "kernels/device/device_k_means.h"

#include <algorithm>

namespace fairlane {

namespace {

/// Squares to add up in a round: about a tenth of a second of the host's work, and what starting
/// the device's takes is lost in it.
constexpr std::int64_t kWorthADevice = 1 << 26;

class DeviceWorker final : public KMeansWorker {
 public:
  DeviceWorker(Device& device, KMeansTask const& task)
      : device_(device),
        task_(task),
        rows_{task.rows.count, nullptr},
        words_(static_cast<std::size_t>(AssignRows::words(task))),
        copies_(std::clamp<std::size_t>(kSumWords / words_, 1, kMostCopies)),
        codes_(device, rows() * static_cast<std::size_t>(task.rows.attributes)),
        weight_(device, rows()),
        distance_(device, rows()),
        cluster_(device, rows()),
        centers_(device, static_cast<std::size_t>(task.clusters) *
                             static_cast<std::size_t>(task.rows.attributes)),
        pieces_(device, (rows() + kPiece - 1) / kPiece),
        sums_(device, copies_ * words_),
        found_(device, 2) {
    device_.upload(codes_.data(), task.rows.codes, codes_.size() * sizeof(std::int32_t));
    task_.rows.codes = codes_.data();
    zero(cluster_);
  }

  std::vector<std::uint64_t> add_center(std::int64_t row) override {
    zero(pieces_);
    device_.run(LowerWeights{task_, row, first_, kPiece, weight_.data(), pieces_.data()}, rows_);
    first_ = false;
    return values_of(pieces_);
  }

  std::vector<std::uint64_t> weights(std::int64_t piece) override {
    std::int64_t const first = piece * kPiece;
    std::vector<std::uint64_t> values(
        static_cast<std::size_t>(std::min(kPiece, task_.rows.count - first)));
    device_.download(values.data(), weight_.data() + first, values.size() * sizeof(std::uint64_t));
    return values;
  }

  bool assign(std::vector<double> const& centers, ClusterSums& sums) override {
    device_.upload(centers_.data(), centers.data(), centers.size() * sizeof(double));
    zero(sums_);
    device_.run(AssignRows{task_, centers_.data(), distance_.data(), cluster_.data(), sums_.data(),
                           static_cast<int>(copies_)},
                rows_);
    auto const copies = values_of(sums_);
    std::vector<std::uint64_t> all(words_);
    for (std::size_t i = 0; i < copies.size(); ++i) all[i % words_] += copies[i];
    for (std::size_t i = 0; i < sums.codes.size(); ++i)
      sums.codes[i] = static_cast<std::int64_t>(all[i]);
    for (std::size_t i = 0; i < sums.rows.size(); ++i)
      sums.rows[i] = static_cast<std::int64_t>(all[sums.codes.size() + i]);
    return all.back() != 0;
  }

  std::int64_t take_farthest() override {
    zero(found_);
    RaiseFarthest const farthest{distance_.data(), found_.data()};
    device_.run(farthest, rows_);
    device_.run(NameFarthest{farthest}, rows_);
    auto const row = static_cast<std::int64_t>(~values_of(found_)[1]);
    device_.zero(distance_.data() + row, sizeof(double));
    return row;
  }

  std::vector<std::int32_t> assignment() override { return values_of(cluster_); }

 private:
  static constexpr std::size_t kSumWords = std::size_t{1} << 16;  // half a megabyte a round crosses
  static constexpr std::size_t kMostCopies = 64;                  // then nobody waits for another

  std::size_t rows() const { return static_cast<std::size_t>(task_.rows.count); }

  template <class T>
  void zero(DeviceArray<T> const& array) {
    device_.zero(array.data(), array.size() * sizeof(T));
  }

  template <class T>
  std::vector<T> values_of(DeviceArray<T> const& array) const {
    std::vector<T> values(array.size());
    device_.download(values.data(), array.data(), values.size() * sizeof(T));
    return values;
  }

  Device& device_;
  KMeansTask task_;
  Range rows_;
  bool first_ = true;  // center
  std::size_t words_;  // of one copy of the sums
  std::size_t copies_;
  DeviceArray<std::int32_t> codes_;
  DeviceArray<std::uint64_t> weight_;
  DeviceArray<double> distance_;
  DeviceArray<std::int32_t> cluster_;
  DeviceArray<double> centers_;
  DeviceArray<std::uint64_t> pieces_;
  DeviceArray<std::uint64_t> sums_;
  DeviceArray<std::uint64_t> found_;
};

}  // namespace

std::vector<std::int32_t> device_k_means(Device& device, RowTable const& rows, int clusters,
                                         std::uint64_t seed) {
  KMeansTask const task = make_k_means_task(rows, clusters);
  DeviceWorker worker(device, task);
  return k_means(task, seed, worker);
}

bool worth_a_device(RowTable const& rows, int clusters) {
  return rows.count * rows.attributes * clusters >= kWorthADevice;
}

}  // namespace fairlane
