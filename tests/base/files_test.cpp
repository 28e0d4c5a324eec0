#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "tests/models/expect_error.h"
#include "tests/models/temporary.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;

std::size_t entries_of(std::string const& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(WriteWholeFile, ReplacesWhatIsThereAndLeavesNothingBeside) {
  TemporaryFolder const folder;
  std::string const path = folder.file("file");
  folder.write("file", "longer than what comes");
  std::string const text(1 << 17, 'x');  // more than the writer's buffer
  for (std::string const& bytes : {std::string("short"), text, std::string()}) {
    write_whole_file(path, bytes);
    EXPECT_EQ(slurp(path), bytes);
    EXPECT_EQ(read_file(path, bytes.size()), bytes);
    EXPECT_EQ(entries_of(folder.file("")), 1U);
  }
}

TEST(WriteWholeFile, NamesThePathThatWasAskedForWithTheCodeThatWasAskedFor) {
  TemporaryFolder const folder;
  std::string const missing = folder.file("none/file");
  for (ExitCode const code : {ExitCode::kDisk, ExitCode::kOutput}) {
    expect_error(code, {missing + ": cannot be created: No such file"},
                 [&] { write_whole_file(missing, "x", code); });
  }
  expect_error(ExitCode::kDisk, {missing + ": "}, [&] { write_whole_file(missing, "x"); });
  fs::create_directories(folder.file("taken/by"));
  expect_error(ExitCode::kOutput, {folder.file("taken") + ": cannot be put into place: "},
               [&] { write_whole_file(folder.file("taken"), "x", ExitCode::kOutput); });
  EXPECT_EQ(entries_of(folder.file("")), 1U) << "what was not put into place is removed";
}

TEST(WriteWholeFile, WritesWhereNothingMayBeRead) {
  TemporaryFolder const folder;
  fs::create_directory(folder.file("drop"));
  ASSERT_EQ(chmod(folder.file("drop").c_str(), S_IWUSR | S_IXUSR), 0);
  write_whole_file(folder.file("drop/file"), "x");
  EXPECT_EQ(slurp(folder.file("drop/file")), "x");
  ASSERT_EQ(chmod(folder.file("drop").c_str(), S_IRWXU), 0);
}

TEST(FileWriter, NamesThePathWhenTheDiskIsFull) {
  FileWriter small("/dev/full");
  small.write("x", 1);
  expect_error(ExitCode::kDisk, {"/dev/full", "No space left"}, [&] { small.close(); });
  FileWriter large("/dev/full");
  std::string const text(1 << 20, 'x');
  expect_error(ExitCode::kDisk, {"/dev/full", "No space left"},
               [&] { large.write(text.data(), text.size()); });
  expect_error(ExitCode::kDisk, {"/no/such/folder"},
               [] { FileWriter const writer("/no/such/folder/file"); });
}

TEST(FileWriter, WritesWhatItIsGiven) {
  TemporaryFolder const folder;
  std::string expected;
  FileWriter writer(folder.file("file"));
  for (int i = 0; i < 200; ++i) {
    std::string const part(static_cast<std::size_t>(i * i * 7 % 70000),
                           static_cast<char>('a' + i % 26));
    writer.write(part.data(), part.size());
    expected += part;
  }
  writer.close();
  EXPECT_EQ(slurp(folder.file("file")), expected);
}

}  // namespace
}  // namespace fairlane
