#include "models/network_file.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "models/keras/archive.h"
#include "models/keras/h5.h"
#include "models/onnx/onnx.h"
#include "models/safetensors.h"
#include "models/tensorflow/checkpoint.h"

namespace fairlane {
namespace {

constexpr std::string_view kHdf5Magic("\x89HDF\r\n\x1a\n", 8);
constexpr std::string_view kZipMagic("PK\x03\x04", 4);
constexpr char const* kFormats =
    "Keras (.keras, .h5), ONNX (.onnx), a TensorFlow 1 checkpoint (.index) or Fairlane "
    ".safetensors";
constexpr std::size_t kHeadBytes = 9;  // enough for every magic number below

// The first bytes of a file. A directory gets the message that helps with models.
std::string read_head(std::string const& path) {
  std::error_code ec;
  if (std::filesystem::is_directory(path, ec)) {
    bool const saved_model =
        std::filesystem::exists(std::filesystem::path(path) / "saved_model.pb", ec);
    throw Error(
        ExitCode::kNoInput,
        fmt::format(
            "{}: is a directory{}, expected a model file; save it with model.save('NAME.h5')",
            escaped(path, 4096), saved_model ? " (a TensorFlow SavedModel)" : ""));
  }
  InputFile const file = open_input(path);
  std::array<char, kHeadBytes> head{};
  std::size_t const got = std::fread(head.data(), 1, head.size(), file.get());
  return {head.data(), got};
}

bool starts_with(std::string const& text, std::string_view prefix) {
  return std::string_view(text).substr(0, prefix.size()) == prefix;
}

bool is_torch(std::string const& extension) {
  return extension == ".pt" || extension == ".pth" || extension == ".ts";
}

// What to do about a file that is no network we read, judged by its first bytes and its name.
std::string advice(std::string const& head, std::string const& extension) {
  if (is_torch(extension)) {
    return "is a PyTorch file, which has no layers that can be read here; TorchScript serves as a "
           "black-box model only";
  }
  if (extension == ".meta" || extension.substr(0, 6) == ".data-") {
    return "is part of a TensorFlow checkpoint; name its index, NAME.index, or NAME alone";
  }
  if (extension == ".nnet")
    return "is a NNET file, which is not supported; convert it to Keras HDF5";
  if (extension == ".pkl" || extension == ".joblib" || extension == ".pickle") {
    return "is a Python pickle, which is not supported; save a network as Keras HDF5, export trees "
           "with export_sklearn.py, or serve the model by exec:COMMAND";
  }
  if (extension == ".yaml" || extension == ".yml")
    return fmt::format("is YAML and no model; expected a network as {}", kFormats);
  return fmt::format("starts with {}, expected a network as {}", in_quotes(head, 8), kFormats);
}

Error no_network(std::string const& path, std::string const& what) {
  return Error(ExitCode::kData, fmt::format("{}: {}", escaped(path, 4096), what));
}

}  // namespace

std::string network_file(std::string const& path) {
  std::error_code ec;
  std::string const index = path + ".index";
  bool const is_prefix = !std::filesystem::exists(path, ec) && std::filesystem::exists(index, ec);
  return is_prefix ? index : path;
}

Network load_network(std::string const& named) {
  std::string const path = network_file(named);
  std::string const head = read_head(path);
  std::string const extension = lower_extension(path);
  if (head.empty())
    throw no_network(path, fmt::format("is empty, expected a network as {}", kFormats));
  if (starts_with(head, kHdf5Magic)) return read_keras_h5(path);
  if (extension == ".keras" || (starts_with(head, kZipMagic) && !is_torch(extension))) {
    return read_keras_archive(path);
  }
  // safetensors has no magic number: eight bytes of header length, then the header's opening brace.
  if (head.size() == kHeadBytes && head[8] == '{' && !starts_with(head, kZipMagic)) {
    return read_safetensors(path);
  }
  if (extension == ".safetensors") return read_safetensors(path);
  if (extension == ".onnx") return read_onnx(path);  // has no magic number either
  if (extension == ".index") return read_tf_checkpoint(path);
  if (extension == ".h5" || extension == ".hdf5" || extension == ".keras-v2") {
    return read_keras_h5(path);  // its message says what is wrong
  }
  throw no_network(path, advice(head, extension));
}

}  // namespace fairlane
