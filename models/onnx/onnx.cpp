#include "models/onnx/onnx.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "models/onnx/chain.h"
#include "models/onnx/gated.h"
#include "models/onnx/steps.h"

namespace fairlane {
namespace {

using onnx::Model;
using onnx::Node;
using onnx::Steps;
using onnx::Wiring;

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 31;  // what Protocol Buffers allow

}  // namespace

Network parse_onnx(std::string_view bytes, std::string const& source) {
  Model model = onnx::decode_model(bytes, source);
  onnx::fuse_gated(model, bytes.size());
  std::string const writer = model.producer.empty()
                                 ? std::string()
                                 : fmt::format(", by {} {}", escaped(model.producer, 40),
                                               escaped(model.producer_version, 40));
  std::string const file = escaped(source, 4096);
  Wiring const wiring(model, bytes.size());
  onnx::Chain const chain = onnx::find_chain(
      model, wiring,
      {&Steps::knows, fmt::format("a network of {}", fmt::join(Steps::operators(), ", "))}, file);
  Steps steps(model, wiring, source);
  steps.begin(chain);
  for (Node const* const node : chain.nodes) steps.apply(*node);
  Network network = std::move(steps).layers().finish(
      source, fmt::format("ONNX (operator set {}{})", model.opset, writer));
  network.features = chain.features();
  return network;
}

Network read_onnx(std::string const& path) {
  return parse_onnx(read_file(path, kMaxFileBytes), path);
}

}  // namespace fairlane
