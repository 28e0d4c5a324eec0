// A plug-in without LibTorch, to show what the loader and the bench make of a bad one.
// tests/CMakeLists.txt defines what is bad: FAKE_ENTRY, the exported name; FAKE_VERSION;
// FAKE_PROBLEM, what loading a subject or a module says (or nullptr). It reports the input of zeros
// as an IDI, and a probability of 2 for every row.
#include <algorithm>

#include "models/torch/plugin_api.h"

namespace fairlane {

struct TorchLoaded {
  std::int32_t attributes;
};

struct TorchModule {
  std::int32_t inputs;
};

namespace {

TorchStatus load(TorchSubject const* subject, char const*, TorchLoaded** loaded) {
  TorchStatus const problem = FAKE_PROBLEM;
  if (problem == nullptr) *loaded = new TorchLoaded{subject->attributes};
  return problem;
}

void unload(TorchLoaded* loaded) { delete loaded; }

TorchStatus search(TorchLoaded*, TorchSearch const*, TorchCounts* counts) {
  *counts = {};
  counts->unique_instances = 1;
  return nullptr;
}

TorchStatus instances(TorchLoaded const* loaded, std::int64_t, std::int64_t count,
                      std::int32_t* row) {
  std::fill_n(row, count * loaded->attributes, 0);
  return nullptr;
}

TorchStatus load_module(char const*, std::int32_t inputs, char const*, TorchModule** module,
                        TorchModuleFacts* facts) {
  TorchStatus const problem = FAKE_PROBLEM;
  if (problem == nullptr) *module = new TorchModule{inputs};
  *facts = {1, 1, "aten::sigmoid"};
  return problem;
}

void unload_module(TorchModule* module) { delete module; }

TorchStatus score(TorchModule*, float const*, std::int64_t count, std::int32_t, float* scores) {
  std::fill_n(scores, count, 2.0F);
  return nullptr;
}

TorchStatus make_trainer(TorchTraining const*, char const*, TorchTrainer**) {
  return "the fake trains nothing";
}

}  // namespace

}  // namespace fairlane

extern "C" void const* FAKE_ENTRY();
extern "C" void const* FAKE_ENTRY() {
  using namespace fairlane;
  static TorchPlugin const plugin{
      .version = FAKE_VERSION,
      .name = "fake",
      .cuda_devices = 0,
      .load = load,
      .unload = unload,
      .search = search,
      .instances = instances,
      .load_module = load_module,
      .unload_module = unload_module,
      .score = score,
      .make_trainer = make_trainer,
      .free_trainer = nullptr,
      .train = nullptr,
      .trainer_logits = nullptr,
      .trained_values = nullptr,
      .trainer_state = nullptr,
      .resume_trainer = nullptr,
      .fit_forest = nullptr,
      .free_forest = nullptr,
      .forest_votes = nullptr,
  };
  return &plugin;
}
