// Writes Keras 3 archives: a configuration, and weights numbered by layer.
#pragma once

#include "tests/base/formats/zip_writer.h"
#include "tests/models/keras/h5_writer.h"
#include "tests/models/temporary.h"

namespace fairlane {

/// A variable: its shape and values.
struct KerasVariable {
  std::vector<hsize_t> shape;
  std::vector<double> values;
};

/// The group of a layer: by class and number ("dense_1"), and the layer's own name.
struct KerasGroup {
  std::string group;
  std::string owner;
  std::vector<KerasVariable> variables;
};

/// model.weights.h5; also left in the folder as weights.h5.
inline std::string keras_weights(TemporaryFolder const& folder,
                                 std::vector<KerasGroup> const& groups,
                                 std::string const& root = "/layers") {
  std::string const path = folder.file("weights.h5");
  {
    H5Writer writer(path);
    for (auto const& group : groups) {
      std::string const vars = root + "/" + group.group + "/vars";
      writer.group(vars);
      writer.text(vars, "name", group.owner, TextKind::kVariable);
      for (std::size_t i = 0; i < group.variables.size(); ++i) {
        writer.floats(vars + "/" + std::to_string(i), group.variables[i].shape,
                      group.variables[i].values);
      }
    }
  }
  return slurp(path);
}

inline std::string keras_archive(std::string const& config, std::string const& weights,
                                 ZipStyle style = {}) {
  return ZipWriter(style)
      .add("metadata.json", R"({"keras_version": "3.4.1", "date_saved": "2024-01-01@00:00:00"})")
      .add("config.json", config)
      .add("model.weights.h5", weights)
      .bytes();
}

}  // namespace fairlane
