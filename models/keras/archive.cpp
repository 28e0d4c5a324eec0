#include "models/keras/archive.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/files.h"
#include "base/formats/json.h"
#include "base/formats/strict_json.h"
#include "base/formats/zip_archive.h"
#include "base/text.h"
#include "models/keras/network.h"

namespace fairlane {
namespace {

constexpr std::size_t kMaxArchiveBytes = std::size_t{1} << 32;
constexpr std::uint64_t kMaxConfigBytes = std::uint64_t{1} << 26;
constexpr std::uint64_t kMaxWeightBytes = std::uint64_t{1} << 31;
constexpr char const* kConfig = "config.json";
constexpr char const* kWeights = "model.weights.h5";
constexpr char const* kMetadata = "metadata.json";

// Weights under numbers, in groups named by class.
class NumberedWeights : public KerasWeights {
 public:
  explicit NumberedWeights(Hdf5File const& file) : file_(file) {
    // The second is what Keras 2.12 wrote.
    for (char const* root : {"/layers", "/_layer_checkpoint_dependencies"}) {
      if (file.has_group(root)) {
        root_ = root;
        return;
      }
    }
    throw file.error("/", "has no group layers");
  }

  Hdf5File const& file() const override { return file_; }

  std::vector<std::string> find(KerasLayer const& layer,
                                std::vector<std::string> const& names) const override {
    std::string const group = fmt::format("{}/{}/vars", root_, layer.group);
    if (!file_.has_group(group)) {
      throw file_.error(group, fmt::format("has no such group, expected the weights of layer {}",
                                           in_quotes(layer.name)));
    }
    // Groups are numbered by class; since Keras 3.4 each also says whose it is.
    auto const owner = file_.strings(group, "name");
    if (owner && *owner != std::vector<std::string>{layer.name}) {
      throw file_.error(group,
                        fmt::format("holds the weights of layer {}, expected those of {}",
                                    in_quotes(owner->empty() ? std::string() : owner->front()),
                                    in_quotes(layer.name)));
    }
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < names.size(); ++i) paths.push_back(fmt::format("{}/{}", group, i));
    bool const counts = layer.kind == KerasLayer::Kind::kNormalization;  // rows seen, the last
    std::string const next = fmt::format("{}/{}", group, names.size() + (counts ? 1 : 0));
    if (file_.has(next)) {
      throw file_.error(next, fmt::format("is one weight too many, expected one each of {}",
                                          fmt::join(names, ", ")));
    }
    return paths;
  }

 private:
  Hdf5File const& file_;
  std::string root_;
};

std::string version_of(ZipArchive const& archive, std::string const& source) {
  if (!archive.has(kMetadata)) return {};
  auto const metadata =
      parse_strict_json(archive.read(kMetadata, kMaxConfigBytes),
                        fmt::format("{}:{}", escaped(source, 4096), kMetadata), 8);
  Json const* const found = metadata.is_object() ? metadata.find("keras_version") : nullptr;
  bool const has_version = found != nullptr && found->is_string();
  return has_version ? " " + escaped(found->get<std::string>(), 40) : std::string();
}

}  // namespace

Network parse_keras_archive(std::string_view bytes, std::string const& source) {
  ZipArchive const archive(bytes, source);
  std::string const file = escaped(source, 4096);
  for (char const* name : {kConfig, kWeights}) {
    if (archive.has(name)) continue;
    throw Error(ExitCode::kData,
                fmt::format("{}: is a zip archive without {}, expected a Keras model; save it with "
                            "model.save('NAME.keras')",
                            file, name));
  }
  KerasConfig const config = parse_keras_config(archive.read(kConfig, kMaxConfigBytes),
                                                fmt::format("{}:{}", file, kConfig));
  Hdf5File const weights(archive.read(kWeights, kMaxWeightBytes),
                         fmt::format("{}:{}", source, kWeights));
  return build_keras_network(config, NumberedWeights(weights), source,
                             "Keras archive" + version_of(archive, source));
}

Network read_keras_archive(std::string const& path) {
  return parse_keras_archive(read_file(path, kMaxArchiveBytes), path);
}

}  // namespace fairlane
