#include "base/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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

TEST(WriteWholeFile, TakesPartsAndLeavesTheOldFileWhereTheyEndEarly) {
  TemporaryFolder const folder;
  std::string const path = folder.file("file");
  write_whole_file(path, [](TextSink const& sink) {
    sink("one, ");
    sink("two");
  });
  EXPECT_EQ(slurp(path), "one, two");
  auto const fail = [](TextSink const& sink) {
    sink("half");
    throw std::runtime_error("no more");
  };
  EXPECT_THROW(write_whole_file(path, fail), std::runtime_error);
  EXPECT_EQ(slurp(path), "one, two");
  EXPECT_EQ(entries_of(folder.file("")), 1U);
}

/// The number of a process that has ended.
std::string ended_process() {
  pid_t const child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return std::to_string(child);
}

TEST(WriteWholeFile, RemovesWhatKilledProcessesLeftOfThisFile) {
  TemporaryFolder const folder;
  std::string const gone = ended_process();
  std::string const alive = std::to_string(getppid());
  folder.write("file." + gone + ".partial", "half");
  std::vector<std::string> const others = {"file." + alive + ".partial",
                                           "other." + gone + ".partial",
                                           "file." + gone + "x.partial",
                                           "file." + gone + ".partial.1",
                                           "file.-" + gone + ".partial",
                                           "file..partial",
                                           "file.partial",
                                           "my-file." + gone + ".partial"};
  for (std::string const& other : others) folder.write(other, "theirs");
  write_whole_file(folder.file("file"), "whole");
  EXPECT_FALSE(fs::exists(folder.file("file." + gone + ".partial")));
  for (std::string const& other : others) EXPECT_EQ(slurp(folder.file(other)), "theirs") << other;
  EXPECT_EQ(slurp(folder.file("file")), "whole");
}

TEST(WriteWholeFile, KeepsWhatIsNoFileOrIsWrittenElsewhere) {
  TemporaryFolder const folder;
  std::string const path = folder.file("file");
  std::string const left = path + "." + ended_process() + ".partial";
  fs::create_directory(left);
  write_whole_file(path, "1");
  EXPECT_TRUE(fs::is_directory(left));
  fs::remove(left);
  ASSERT_EQ(symlink("nowhere", left.c_str()), 0);
  write_whole_file(path, "2");
  EXPECT_TRUE(fs::is_symlink(left));
  fs::remove(left);
  // As by a process of another machine, which writes it and is not among those of this one.
  int const held = open(left.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  write_whole_file(path, "3");
  EXPECT_TRUE(fs::exists(left));
  close(held);
  write_whole_file(path, "4");
  EXPECT_FALSE(fs::exists(left));
}

TEST(WriteWholeFile, HoldsWhatItWrites) {
  TemporaryFolder const folder;
  std::string const path = folder.file("file");
  write_whole_file(path, [&](TextSink const& sink) {
    sink("x");
    std::string const partial = path + "." + std::to_string(getpid()) + ".partial";
    int const other = open(partial.c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_GE(other, 0);
    EXPECT_NE(flock(other, LOCK_EX | LOCK_NB), 0);
    close(other);
  });
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
