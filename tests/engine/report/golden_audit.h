// The audit that tests of its reports begin with.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

#include "base/formats/json.h"
#include "tests/checkout.h"

namespace fairlane {

/// audit.json beside this file: the demo's planted rules counted by hand, with names that no format
/// holds as they are.
inline Json golden_audit() {
  std::ifstream file(source_dir() + "/tests/engine/report/audit.json", std::ios::binary);
  return Json::parse(std::string(std::istreambuf_iterator<char>(file), {}));
}

/// The audit without a part of each of its sets.
inline Json without(Json audit, char const* part) {
  for (std::size_t i = 0; i < audit["sets"].size(); ++i) audit["sets"][i].erase(part);
  return audit;
}

}  // namespace fairlane
