// The plug-in's table: LibTorch behind plain C. No exception leaves, no name of C++ is exported.
#include <dlfcn.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <string>

#include "models/torch/lockstep_search.h"

// OpenBLAS has threads of its own where it was built so; torch does not know about them.
extern "C" void openblas_set_num_threads(int) __attribute__((weak));

namespace fairlane {

struct TorchLoaded {
  LockstepSubject subject;
  TorchFindings findings;
};

namespace {

/// Runs `work`; the first line of what it throws becomes the status.
template <class Work>
TorchStatus guarded(Work&& work) {
  thread_local std::string problem;
  try {
    work();
    return nullptr;
  } catch (c10::Error const& error) {
    problem = error.what_without_backtrace();
  } catch (std::exception const& error) {
    problem = error.what();
  } catch (...) {
    problem = "an unknown exception";
  }
  problem.resize(std::min(problem.find('\n'), problem.size()));
  return problem.c_str();
}

TorchStatus load(TorchSubject const* subject, char const* device, TorchLoaded** loaded) {
  return guarded([&] {
    c10::InferenceMode const inference;
    *loaded = new TorchLoaded{LockstepSubject(*subject, torch::Device(std::string(device))), {}};
  });
}

void unload(TorchLoaded* loaded) { delete loaded; }

TorchStatus search(TorchLoaded* loaded, TorchSearch const* search, TorchCounts* counts) {
  return guarded([&] {
    torch::set_num_threads(search->threads);
    if (openblas_set_num_threads != nullptr) openblas_set_num_threads(search->threads);
    loaded->findings = lockstep_search(loaded->subject, *search);
    *counts = loaded->findings.counts;
  });
}

TorchStatus instances(TorchLoaded const* loaded, std::int64_t first, std::int64_t count,
                      std::int32_t* row) {
  return guarded([&] {
    std::int64_t const* const keys = loaded->findings.keys.data_ptr<std::int64_t>();
    for (std::int64_t i = first; i < first + count; ++i, row += loaded->subject.attributes())
      loaded->subject.decode(keys[i], row);
  });
}

/// Which library multiplies matrices on the CPU: torch's own description tells only what it was built with.
std::string blas_name() {
  if (at::hasMKL()) return "MKL";
  Dl_info info{};
  void* const product = dlsym(RTLD_DEFAULT, "sgemm_");
  char path[PATH_MAX];
  if (product == nullptr || dladdr(product, &info) == 0 ||
      realpath(info.dli_fname, path) == nullptr)
    return "its own BLAS";
  std::string const file = path;
  if (file.find("openblas") != std::string::npos) return "OpenBLAS";
  if (file.find("blis") != std::string::npos) return "BLIS";
  return "the reference BLAS, which is slow";
}

}  // namespace

}  // namespace fairlane

extern "C" __attribute__((visibility("default"))) fairlane::TorchPlugin const*
fairlane_torch_plugin() {
  using namespace fairlane;
  static std::string const name = std::string("LibTorch ") + TORCH_VERSION + " with " + blas_name();
  static TorchPlugin const plugin{kTorchPluginVersion,
                                  name.c_str(),
                                  static_cast<std::int32_t>(torch::cuda::device_count()),
                                  load,
                                  unload,
                                  search,
                                  instances};
  return &plugin;
}
