#include "engine/ranks/mpi_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/error.h"
#include "base/plugin.h"
#include "base/text.h"

namespace fairlane {
namespace {

constexpr std::size_t kLongestLine = 400;

/// Variables by which a launcher tells a process of its job: those of Open MPI, of MPICH and what
/// descends from it, and of Slurm's srun with PMIx.
constexpr char const* kLaunchers[] = {"OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMIX_RANK",
                                      "MV2_COMM_WORLD_SIZE"};

/// Room for what the plug-in says of a failure.
class MpiLine {
 public:
  operator MpiProblem() { return {text_.data(), kLongestLine}; }
  Error error() const {
    return {ExitCode::kUnavailable, fmt::format("MPI: {}", escaped(text_.data(), kLongestLine))};
  }

 private:
  std::array<char, kLongestLine> text_{};
};

class MpiLink : public RankLink {
 public:
  MpiLink() : plugin_(mpi_plugin()) {
    MpiLine line;
    if (plugin_.init(line) < 0) throw line.error();
  }

  int rank() const override { return plugin_.rank(); }
  int size() const override { return plugin_.size(); }
  std::string host() const override {
    std::array<char, kLongestLine> name{};
    plugin_.host(name.data(), kLongestLine);
    return name.data();
  }
  void send(int to, Kind kind, std::string_view bytes) override {
    MpiLine line;
    if (plugin_.send(to, static_cast<std::int32_t>(kind), bytes.data(),
                     static_cast<std::int64_t>(bytes.size()), line) < 0)
      throw line.error();
  }
  std::int64_t unsent() override {
    MpiLine line;
    std::int64_t const bytes = plugin_.unsent(line);
    if (bytes < 0) throw line.error();
    return bytes;
  }
  std::optional<Parcel> receive() override {
    MpiLine line;
    MpiMessage message{};
    std::int32_t const result = plugin_.receive(&message, line);
    if (result < 0) throw line.error();
    if (result == 0) return std::nullopt;
    Parcel parcel{message.from, static_cast<Kind>(message.kind), {}};
    parcel.bytes.resize(static_cast<std::size_t>(message.bytes));
    plugin_.take(parcel.bytes.data());
    return parcel;
  }
  void abort(ExitCode code) override { plugin_.abort(static_cast<std::int32_t>(code)); }
  void close() override {
    MpiLine line;
    if (plugin_.finalize(line) < 0) throw line.error();
  }

 private:
  MpiPlugin const& plugin_;
};

}  // namespace

MpiPlugin const& mpi_plugin() {
  static constexpr PluginName kName = {"MPI plug-in", kMpiPluginFile, kMpiPluginSymbol,
                                       kMpiPluginVersion,
                                       "install an MPI (apt-get install libopenmpi-dev "
                                       "openmpi-bin) and build with -DFAIRLANE_MPI=ON"};
  return *static_cast<MpiPlugin const*>(load_plugin(kName, plugin_folder(kMpiPluginFile)));
}

bool started_by_mpi() {
  return std::ranges::any_of(kLaunchers,
                             [](char const* name) { return std::getenv(name) != nullptr; });
}

std::unique_ptr<RankLink> make_mpi_link() {
  mpi_plugin();
  if (!started_by_mpi()) {
    throw usage_error(
        "--mpi: this process is no rank of an MPI job, expected to be started by mpirun, such as: "
        "mpirun -n 4 fairlane COMMAND ... --mpi");
  }
  return std::make_unique<MpiLink>();
}

}  // namespace fairlane
