#include "models/keras/hdf5_file.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/files.h"
#include "base/float16.h"
#include "base/text.h"
#include "models/keras/hdf5_format.h"

namespace fairlane {
namespace {

using hdf5::Datatype;
using hdf5::MessageType;

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 32;
constexpr std::uint64_t kMaxStrings = std::uint64_t{1} << 16;
constexpr std::size_t kMaxStringBytes =
    std::size_t{1} << 26;  // of one attribute; corrupt lists may repeat long ones

std::uint64_t read_bits(char const* bytes, std::size_t size, bool big_endian) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    std::size_t const at = big_endian ? i : size - 1 - i;
    value = value << 8 | static_cast<unsigned char>(bytes[at]);
  }
  return value;
}

float read_float(char const* bytes, Datatype const& type, std::size_t index) {
  std::uint64_t const bits = read_bits(bytes, type.size, type.big_endian);
  if (type.size == 2) return from_half(static_cast<std::uint16_t>(bits));
  if (type.size == 4) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  double const wide = std::bit_cast<double>(bits);
  bool const in_range = !std::isfinite(wide) ||
                        std::abs(wide) <= static_cast<double>(std::numeric_limits<float>::max());
  float const narrow = in_range ? static_cast<float>(wide) : 0.0F;
  if (!std::isnan(wide) && static_cast<double>(narrow) != wide) {
    throw Malformed{fmt::format(
        "is float64 and value {} is {}, which float32 cannot hold exactly; rounding would change "
        "the network: save it in float32",
        index, wide)};
  }
  return narrow;
}

}  // namespace

struct Hdf5File::Impl {
  explicit Impl(std::string text) : bytes(std::move(text)), format(bytes) {}

  // Address of the object at a path, or nothing.
  std::optional<std::uint64_t> find(std::string const& path) const {
    std::uint64_t at = format.root();
    std::size_t begin = 0;
    while (begin < path.size()) {
      std::size_t const end = std::min(path.find('/', begin), path.size());
      std::string_view const name = std::string_view(path).substr(begin, end - begin);
      begin = end + 1;
      if (name.empty() || name == ".") continue;
      auto const next = format.member(at, name);
      if (!next) return std::nullopt;
      at = *next;
    }
    return at;
  }

  std::string bytes;
  hdf5::Format format;
};

Hdf5File::Hdf5File(std::string const& path) : Hdf5File(read_file(path, kMaxFileBytes), path) {}

Hdf5File::Hdf5File(std::string bytes, std::string const& source) : source_(source) {
  try {
    impl_ = std::make_unique<Impl>(std::move(bytes));
  } catch (Malformed const& malformed) {
    throw Error(ExitCode::kData, fmt::format("{}: {}", escaped(source_, 4096), malformed.what));
  }
}

Hdf5File::~Hdf5File() = default;

bool Hdf5File::has(std::string const& path) const try {
  return impl_->find(path).has_value();
} catch (Malformed const& malformed) {
  throw error(path, malformed.what);
}

bool Hdf5File::has_group(std::string const& path) const try {
  auto const at = impl_->find(path);
  if (!at) return false;
  for (auto const& message : impl_->format.header(*at)) {
    if (message.type == MessageType::kSymbolTable || message.type == MessageType::kLinkInfo)
      return true;
  }
  return false;
} catch (Malformed const& malformed) {
  throw error(path, malformed.what);
}

std::optional<std::vector<std::string>> Hdf5File::strings(std::string const& object,
                                                          std::string const& name) const try {
  auto const at = impl_->find(object);
  if (!at) return std::nullopt;
  auto const attribute = impl_->format.attribute(*at, name);
  if (!attribute) return std::nullopt;
  std::uint64_t count = 1;
  for (std::uint64_t const size : attribute->shape) {
    if (size != 0 && count > kMaxStrings / size) {
      throw Malformed{fmt::format("attribute {} lists more than {} strings", name, kMaxStrings)};
    }
    count *= size;
  }
  Datatype const& type = attribute->type;
  // h5py writes an empty list of names as an empty list of numbers.
  if (count == 0) return std::vector<std::string>();
  bool const variable = type.kind == Datatype::Kind::kVariableString;
  if (!variable && type.kind != Datatype::Kind::kString) {
    throw Malformed{fmt::format("attribute {} holds no strings", name)};
  }
  if (type.size == 0 || count > attribute->data.size() / type.size) {
    throw Malformed{fmt::format("attribute {} has {} bytes, expected {} strings of {}", name,
                                attribute->data.size(), count, type.size)};
  }
  std::vector<std::string> result;
  std::size_t total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::string_view const element = attribute->data.substr(i * type.size, type.size);
    std::string_view text =
        variable ? impl_->format.variable_string(element) : element.substr(0, element.find('\0'));
    while (!variable && !text.empty() && text.back() == ' ')
      text.remove_suffix(1);  // Fortran's padding
    total += text.size();
    if (total > kMaxStringBytes) {
      throw Malformed{
          fmt::format("attribute {} holds more than {} bytes of text", name, kMaxStringBytes)};
    }
    result.emplace_back(text);
  }
  return result;
} catch (Malformed const& malformed) {
  throw error(object, malformed.what);
}

Hdf5Tensor Hdf5File::tensor(std::string const& path) const try {
  auto const at = impl_->find(path);
  if (!at) throw Malformed{"no such dataset"};
  std::optional<Datatype> type;
  std::optional<std::vector<std::uint64_t>> shape;
  std::optional<std::string_view> layout;
  for (auto const& message : impl_->format.header(*at)) {
    bool const used = message.type == MessageType::kDatatype ||
                      message.type == MessageType::kDataspace ||
                      message.type == MessageType::kLayout;
    if (used && message.shared)
      throw Malformed{"has a type or shape kept elsewhere, which is not supported"};
    if (message.type == MessageType::kDatatype) type = hdf5::datatype(message.body);
    if (message.type == MessageType::kDataspace) shape = impl_->format.dataspace(message.body);
    if (message.type == MessageType::kLayout) layout = message.body;
    if (message.type == MessageType::kExternalFiles)
      throw Malformed{"keeps its data in other files, which is not supported"};
    if (message.type == MessageType::kFilters)
      throw Malformed{"is compressed, which is not supported"};
  }
  if (!type || !shape || !layout) throw Malformed{"is not a dataset"};
  if (type->kind != Datatype::Kind::kFloat)
    throw Malformed{"holds no IEEE floats, expected float32"};
  std::string_view const data = impl_->format.contents(*layout);
  std::uint64_t const room = data.size() / type->size;
  Hdf5Tensor tensor;
  std::uint64_t count = 1;
  for (std::uint64_t const size : *shape) {
    if (size == 0 || count > room / size) {
      throw Malformed{fmt::format("has shape [{}], but {} bytes of data", fmt::join(*shape, ", "),
                                  data.size())};
    }
    count *= size;
    tensor.shape.push_back(static_cast<std::size_t>(size));
  }
  if (count != room || data.size() % type->size != 0) {
    throw Malformed{
        fmt::format("has shape [{}], but {} bytes of data", fmt::join(*shape, ", "), data.size())};
  }
  tensor.values.resize(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < tensor.values.size(); ++i) {
    tensor.values[i] = read_float(data.data() + i * type->size, *type, i);
  }
  return tensor;
} catch (Malformed const& malformed) {
  throw error(path, malformed.what);
}

Error Hdf5File::error(std::string const& path, std::string const& what) const {
  return data_error(fmt::format("{}:{}", escaped(source_, 4096), escaped(path)), what);
}

}  // namespace fairlane
