#include "engine/results/npy.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

TEST(Npy, HeaderIsWhatNumpyWrites) {
  std::string const header = npy_header("<i4", 3, 17);
  EXPECT_EQ(header.size() % 64, 0U);
  EXPECT_EQ(header.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(header.substr(10, 60), "{'descr': '<i4', 'fortran_order': False, 'shape': (3, 17), }");
  EXPECT_EQ(header.back(), '\n');
  auto const parsed = parse_npy_header(header + "data", "x.npy");
  EXPECT_EQ(parsed.type, "<i4");
  EXPECT_EQ(parsed.rows, 3);
  EXPECT_EQ(parsed.columns, 17);
  EXPECT_EQ(parsed.bytes, header.size());
}

TEST(Npy, RefusesDamagedHeaders) {
  std::string const header = npy_header("<f4", 123456, 2);
  for (std::size_t i = 0; i < header.size(); ++i) {
    std::string damaged = header;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x40);
    try {
      auto const parsed = parse_npy_header(damaged, "x.npy");
      EXPECT_EQ(npy_header(parsed.type, parsed.rows, parsed.columns), damaged);
    } catch (Error const& error) {
      EXPECT_EQ(error.code(), ExitCode::kData);
    }
    expect_error(ExitCode::kData, {"x.npy"},
                 [&] { parse_npy_header(header.substr(0, i), "x.npy"); });
  }
}

}  // namespace
}  // namespace fairlane
