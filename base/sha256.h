// SHA-256, in one piece or as data comes.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace fairlane {

/// Digest of a stream of bytes.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256 const&) = delete;
  Sha256& operator=(Sha256 const&) = delete;

  void update(void const* data, std::size_t size);
  /// The digest in hexadecimal; ends the stream.
  std::string finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// SHA-256 of bytes or of a file, in hexadecimal. Throws Error(kNoInput).
std::string sha256(std::string const& bytes);
std::string sha256_file(std::string const& path);

}  // namespace fairlane
