#include "base/sha256.h"

#include <gtest/gtest.h>

#include <string>

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

}  // namespace
}  // namespace fairlane
