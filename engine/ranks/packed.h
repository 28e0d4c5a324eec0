// Numbers and arrays of them as the bytes of a message between ranks.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.h"

namespace fairlane {

/// Puts arrays one after the other. Numbers have the machine's byte order.
class Packer {
 public:
  template <class T>
  Packer& add(std::vector<T> const& values) {
    static_assert(std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>,
                  "padding has no value");
    std::uint64_t const bytes = values.size() * sizeof(T);
    bytes_.append(reinterpret_cast<char const*>(&bytes), sizeof bytes);
    bytes_.append(reinterpret_cast<char const*>(values.data()), bytes);
    return *this;
  }
  std::string const& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Takes them in the same order. Throws Error(kBug) where the bytes have another shape.
class Unpacker {
 public:
  /// bytes: outlives this
  explicit Unpacker(std::string_view bytes) : rest_(bytes) {}
  template <class T>
  std::vector<T> take() {
    std::uint64_t bytes = 0;
    if (rest_.size() < sizeof bytes) throw wrong();
    std::memcpy(&bytes, rest_.data(), sizeof bytes);
    rest_.remove_prefix(sizeof bytes);
    if (rest_.size() < bytes || bytes % sizeof(T) != 0) throw wrong();
    std::vector<T> values(bytes / sizeof(T));
    if (bytes > 0) std::memcpy(values.data(), rest_.data(), bytes);
    rest_.remove_prefix(bytes);
    return values;
  }
  bool empty() const { return rest_.empty(); }

 private:
  static Error wrong() {
    return {ExitCode::kBug, "a message between ranks has another shape than expected"};
  }
  std::string_view rest_;
};

}  // namespace fairlane
