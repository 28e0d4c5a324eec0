#include "apps/sweep/gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>

#include "apps/commands/config_options.h"
#include "apps/console.h"
#include "base/child_process.h"
#include "base/error.h"
#include "base/formats/json.h"
#include "kernels/devices.h"

namespace fairlane {
namespace {

constexpr char const* kVisible = "CUDA_VISIBLE_DEVICES";
constexpr std::chrono::seconds kPatience{120};  // that drivers and contexts take at most
constexpr std::chrono::milliseconds kGrace{5000};
constexpr int kMostDevice = 1023;

/// What `fairlane devices --json` prints. Throws Error(kUnavailable).
Json seen_devices() {
  constexpr std::size_t kMostBytes = std::size_t{1} << 20;
  ChildProcess child("sweep", {running_program(), "devices", "--json"}, "");
  std::string const text = child.receive_all(kPatience, kMostBytes);
  child.end(kGrace);
  try {
    return Json::parse(text).at("cuda");
  } catch (JsonError const&) {
    throw Error(ExitCode::kUnavailable, "sweep: its look at the GPUs has failed" +
                                            child.last_errors() + "; try --backend cpu");
  }
}

/// The numbers of "cuda:0,2". Throws Error(kUsage).
std::vector<int> listed(std::string const& backend) {
  std::vector<int> numbers;
  std::size_t const colon = backend.find(':');
  std::string const list = colon == std::string::npos ? "0" : backend.substr(colon + 1);
  for (std::size_t from = 0, to = 0; from <= list.size(); from = to + 1) {
    to = std::min(list.find(',', from), list.size());
    numbers.push_back(static_cast<int>(
        parse_integer("--backend cuda:N", list.substr(from, to - from), 0, kMostDevice)));
  }
  return numbers;
}

}  // namespace

std::vector<int> sweep_gpus(std::string const& backend) {
  bool const asks = backend.starts_with("cuda");
  if (!cuda_built() || (!asks && backend != "auto")) {
    check_backend_name(backend);
    return {};
  }
  Json const seen = seen_devices();
  std::vector<int> usable;
  for (Json const& device : seen.at("devices")) {
    if (device.at("problem").get<std::string>().empty())
      usable.push_back(device.at("index").get<int>());
  }
  if (!asks) return usable;
  if (usable.empty()) {
    throw Error(ExitCode::kUnavailable, fmt::format("--backend {}: {}; use auto or cpu", backend,
                                                    seen.at("problem").get<std::string>()));
  }
  if (backend == "cuda:all") return usable;
  auto const numbers = listed(backend);
  for (int const number : numbers) {
    if (std::ranges::find(usable, number) != usable.end()) continue;
    throw Error(ExitCode::kUnavailable,
                fmt::format("--backend {}: there is no GPU {} that can be used, expected of {}",
                            backend, number, fmt::join(usable, ", ")));
  }
  return numbers;
}

void see_one_gpu(int device) {
  std::string entry = std::to_string(device);
  // Whoever started us may have left us some of the machine's.
  if (char const* const before = std::getenv(kVisible); before != nullptr && *before != '\0') {
    std::string_view rest = before;
    for (int i = 0; i < device && !rest.empty(); ++i)
      rest.remove_prefix(std::min(rest.find(','), rest.size() - 1) + 1);
    entry = std::string(rest.substr(0, rest.find(',')));
  }
  setenv(kVisible, entry.c_str(), 1);
}

}  // namespace fairlane
