#include "base/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace fairlane {
namespace {

void check(int result) {
  if (result != 1) throw Error(ExitCode::kBug, "OpenSSL refused to compute SHA-256");
}

}  // namespace

struct Sha256::Impl {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~Impl() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : impl_(std::make_unique<Impl>()) {
  if (impl_->context == nullptr) throw Error(ExitCode::kMemory, "out of memory for a SHA-256");
  check(EVP_DigestInit_ex(impl_->context, EVP_sha256(), nullptr));
}

Sha256::~Sha256() = default;

void Sha256::update(void const* data, std::size_t size) {
  check(EVP_DigestUpdate(impl_->context, data, size));
}

std::string Sha256::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  check(EVP_DigestFinal_ex(impl_->context, digest.data(), &size));
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

std::string sha256(std::string const& bytes) {
  Sha256 hash;
  hash.update(bytes.data(), bytes.size());
  return hash.finish();
}

std::string sha256_file(std::string const& path) {
  InputFile const file = open_input(path);
  constexpr std::size_t kChunk = 1U << 16;
  std::vector<char> chunk(kChunk);
  Sha256 hash;
  while (std::size_t const got = std::fread(chunk.data(), 1, chunk.size(), file.get())) {
    hash.update(chunk.data(), got);
  }
  if (std::ferror(file.get()) != 0) {
    throw Error(ExitCode::kNoInput,
                fmt::format("{}: cannot be read: {}", escaped(path, 4096), std::strerror(errno)));
  }
  return hash.finish();
}

}  // namespace fairlane
