#include "engine/tables/npy.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

TEST(Npy, HeaderIsWhatNumpyWrites) {
  std::vector<NpyField> const fields = {{"age", NpyType::kU1}, {"it's", NpyType::kF4}};
  std::string const header = npy_header(fields, 3);
  EXPECT_EQ(header.size() % 64, 0U);
  EXPECT_EQ(header.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(
      header.substr(10, 86),
      "{'descr': [('age', '|u1'), ('it\\'s', '<f4')], 'fortran_order': False, 'shape': (3,), }");
  EXPECT_EQ(header.back(), '\n');
  EXPECT_EQ(npy_row_bytes(fields), 5U);
  auto const parsed = parse_npy_header(header + "data", fields, "x.npy");
  EXPECT_EQ(parsed.fields, fields);
  EXPECT_EQ(parsed.rows, 3);
  EXPECT_EQ(parsed.bytes, header.size());
}

TEST(Npy, HeaderOfManyFieldsIsOfVersionTwo) {
  std::vector<NpyField> fields;
  for (int i = 0; i < 4000; ++i) fields.push_back({"attribute" + std::to_string(i)});
  std::string const header = npy_header(fields, 7);
  EXPECT_GT(header.size(), 1U << 16);
  EXPECT_EQ(header[6], '\x02');
  EXPECT_EQ(npy_header_bytes(header, "x.npy"), header.size());
  EXPECT_EQ(parse_npy_header(header, fields, "x.npy").rows, 7);
}

TEST(Npy, NamesAreEscaped) {
  std::vector<NpyField> const fields = {{"größe", NpyType::kI2}, {"a\\b\n", NpyType::kI2}};
  std::string const header = npy_header(fields, 1);
  EXPECT_NE(header.find("'gr\\U000000f6\\U000000dfe'"), std::string::npos);
  EXPECT_NE(header.find("'a\\\\b\\U0000000a'"), std::string::npos);
  EXPECT_EQ(parse_npy_header(header, fields, "x.npy").fields, fields);
}

TEST(Npy, TypesAreTheSmallest) {
  EXPECT_EQ(smallest_npy_type(0, 255), NpyType::kU1);
  EXPECT_EQ(smallest_npy_type(-1, 127), NpyType::kI1);
  EXPECT_EQ(smallest_npy_type(-1, 128), NpyType::kI2);
  EXPECT_EQ(smallest_npy_type(0, 65535), NpyType::kU2);
  EXPECT_EQ(smallest_npy_type(-32769, 0), NpyType::kI4);
  EXPECT_EQ(smallest_npy_type(0, 4294967295), NpyType::kU4);
}

TEST(Npy, RefusesDamagedHeaders) {
  std::vector<NpyField> const fields = {{"a", NpyType::kF4}, {"b", NpyType::kU2}};
  std::string const header = npy_header(fields, 123456);
  for (std::size_t i = 0; i < header.size(); ++i) {
    std::string damaged = header;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x40);
    try {
      auto const parsed = parse_npy_header(damaged, fields, "x.npy");
      EXPECT_EQ(npy_header(parsed.fields, parsed.rows), damaged);
    } catch (Error const& error) {
      EXPECT_EQ(error.code(), ExitCode::kData);
    }
    expect_error(ExitCode::kData, {"x.npy"},
                 [&] { parse_npy_header(header.substr(0, i), fields, "x.npy"); });
  }
}

}  // namespace
}  // namespace fairlane
