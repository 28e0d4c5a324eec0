// The plug-in's table: LibTorch behind plain C. No exception leaves, no name of C++ is exported.
#include <dlfcn.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <memory>
#include <string>

#include "bench/torch/lockstep_search.h"
#include "models/torch/plugin/scripted_module.h"
#include "models/torch/plugin/trained_network.h"
#ifdef FAIRLANE_OPENCV
#include "models/torch/plugin/forest.h"
#endif

// OpenBLAS has threads of its own where it was built so; torch does not know about them.
extern "C" void openblas_set_num_threads(int) __attribute__((weak));

namespace fairlane {

struct TorchLoaded {
  LockstepSubject subject;
  TorchFindings findings;
};

struct TorchModule {
  ScriptedModule scripted;
};

struct TorchTrainer {
  TrainedNetwork network;
};

#ifdef FAIRLANE_OPENCV
struct TorchForest {
  Forest forest;
};
#endif

namespace {

/// The line of a message that tells what failed: TorchScript's interpreter puts it last, below the
/// script's own lines.
void keep_one_line(std::string& problem) {
  problem.erase(problem.find_last_not_of(" \n") + 1);
  if (problem.find("TorchScript interpreter") != std::string::npos)
    problem.erase(0, problem.rfind('\n') + 1);
  problem.resize(std::min(problem.find('\n'), problem.size()));
}

void use_threads(std::int32_t threads) {
  torch::set_num_threads(threads);
  if (openblas_set_num_threads != nullptr) openblas_set_num_threads(threads);
}

/// Runs `work`; one line of what it throws becomes the status.
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
  keep_one_line(problem);
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
    use_threads(search->threads);
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

TorchStatus load_module(char const* path, std::int32_t inputs, char const* device,
                        TorchModule** module, TorchModuleFacts* facts) {
  return guarded([&] {
    use_threads(1);
    *module = new TorchModule{ScriptedModule(path, inputs, torch::Device(std::string(device)))};
    ScriptedModule const& scripted = (*module)->scripted;
    std::string const& last = scripted.last_operation();
    bool const squeezes = last == "aten::sigmoid" || last == "aten::sigmoid_" ||
                          last == "aten::softmax" || last == "aten::_softmax";
    *facts = {scripted.outputs(), squeezes ? 1 : 0, last.c_str()};
  });
}

void unload_module(TorchModule* module) { delete module; }

TorchStatus score(TorchModule* module, float const* rows, std::int64_t count, std::int32_t threads,
                  float* scores) {
  return guarded([&] {
    use_threads(1);  // in every operation; score has threads of its own
    module->scripted.score(rows, count, threads, scores);
  });
}

TorchStatus make_trainer(TorchTraining const* training, char const* device,
                         TorchTrainer** trainer) {
  return guarded([&] {
    use_threads(1);
    *trainer = new TorchTrainer{TrainedNetwork(*training, torch::Device(std::string(device)))};
  });
}

void free_trainer(TorchTrainer* trainer) { delete trainer; }

TorchStatus train(TorchTrainer* trainer, TorchBatch const* batch, float* loss) {
  return guarded([&] {
    use_threads(1);  // of each thread that trains
    *loss = trainer->network.step(*batch);
  });
}

TorchStatus trainer_logits(TorchTrainer* trainer, float const* inputs, std::int64_t count,
                           float* logits) {
  return guarded([&] {
    use_threads(1);
    trainer->network.logits(inputs, count, logits);
  });
}

TorchStatus trained_values(TorchTrainer const* trainer, float* values) {
  return guarded([&] { trainer->network.values(values); });
}

TorchStatus trainer_state(TorchTrainer const* trainer, TorchTrainerState* state) {
  return guarded([&] { trainer->network.save(*state); });
}

TorchStatus resume_trainer(TorchTrainer* trainer, TorchTrainerState const* state) {
  return guarded([&] { trainer->network.resume(*state); });
}

#ifdef FAIRLANE_OPENCV
TorchStatus fit_forest(float const* inputs, std::int32_t const* labels, std::int64_t rows,
                       std::int32_t columns, std::int32_t classes, std::uint64_t seed,
                       TorchForest** forest) {
  return guarded(
      [&] { *forest = new TorchForest{Forest(inputs, labels, rows, columns, classes, seed)}; });
}

void free_forest(TorchForest* forest) { delete forest; }

TorchStatus forest_votes(TorchForest const* forest, float const* inputs, std::int64_t count,
                         float* shares) {
  return guarded([&] { forest->forest.vote(inputs, count, shares); });
}
#else
constexpr decltype(TorchPlugin::fit_forest) fit_forest = nullptr;
constexpr decltype(TorchPlugin::free_forest) free_forest = nullptr;
constexpr decltype(TorchPlugin::forest_votes) forest_votes = nullptr;
#endif

/// Which library multiplies matrices on the CPU: torch's own description tells only what it was
/// built with.
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

extern "C" __attribute__((visibility("default"))) void const* fairlane_torch_plugin() {
  using namespace fairlane;
  static std::string const name = std::string("LibTorch ") + TORCH_VERSION + " with " + blas_name();
  static TorchPlugin const plugin{kTorchPluginVersion,
                                  name.c_str(),
                                  static_cast<std::int32_t>(torch::cuda::device_count()),
                                  load,
                                  unload,
                                  search,
                                  instances,
                                  load_module,
                                  unload_module,
                                  score,
                                  make_trainer,
                                  free_trainer,
                                  train,
                                  trainer_logits,
                                  trained_values,
                                  trainer_state,
                                  resume_trainer,
                                  fit_forest,
                                  free_forest,
                                  forest_votes};
  return &plugin;
}
