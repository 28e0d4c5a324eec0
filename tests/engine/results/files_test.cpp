// SHA-256 and NumPy headers against published values.
#include <gtest/gtest.h>

#include "base/sha256.h"
#include "engine/results/npy.h"
#include "engine/results/report.h"
#include "tests/models/expect_error.h"
#include "tests/models/temporary.h"

namespace fairlane {
namespace {

// Source: FIPS 180-4 example values, NIST.
TEST(Sha256, AgreesWithNist) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  TemporaryFolder const folder;
  std::string const million(1000000, 'a');
  std::string const digest = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
  EXPECT_EQ(sha256_file(folder.write("million", million)), digest);
  Sha256 stream;
  for (int i = 0; i < 1000; ++i) stream.update(million.data(), 1000);
  EXPECT_EQ(stream.finish(), digest);
  expect_error(ExitCode::kNoInput, {"missing"}, [&] { sha256_file(folder.file("missing")); });
}

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

TEST(CsvCell, QuotesWhatNeedsIt) {
  EXPECT_EQ(csv_cell("hours-per-week"), "hours-per-week");
  EXPECT_EQ(csv_cell("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_cell("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(csv_cell("two\nlines"), "\"two\nlines\"");
}

}  // namespace
}  // namespace fairlane
