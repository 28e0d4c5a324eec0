// Runs the command line in this process, in a folder of its own.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli.h"
#include "models/network.h"
#include "models/safetensors.h"
#include "tests/models/temporary.h"

namespace fairlane {

using Words = std::vector<std::string>;

/// What a command left behind.
struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

/// Sends a stream of this process to a file while it lives.
class Redirection {
 public:
  Redirection(std::FILE* stream, std::string const& path) : stream_(stream) {
    std::fflush(stream_);
    saved_ = dup(fileno(stream_));
    int const fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (saved_ < 0 || fd < 0 || dup2(fd, fileno(stream_)) < 0) ADD_FAILURE() << path;
    close(fd);
  }
  ~Redirection() {
    std::fflush(stream_);
    dup2(saved_, fileno(stream_));
    close(saved_);
  }
  Redirection(Redirection const&) = delete;
  Redirection& operator=(Redirection const&) = delete;

 private:
  std::FILE* stream_;
  int saved_ = -1;
};

inline bool contains(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

/// Runs `fairlane arguments...`. stdout: where it goes, a file of its own when empty.
inline Outcome run_fairlane(std::vector<std::string> arguments,
                            std::string const& stdout_path = "") {
  TemporaryFolder const folder;
  std::string const out = stdout_path.empty() ? folder.file("out") : stdout_path;
  Outcome outcome;
  {
    Redirection const to_out(stdout, out);
    Redirection const to_err(stderr, folder.file("err"));
    arguments.insert(arguments.begin(), "fairlane");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    outcome.code = fairlane_main(static_cast<int>(arguments.size()), argv.data());
  }
  if (stdout_path.empty()) outcome.out = slurp(out);
  outcome.err = slurp(folder.file("err"));
  return outcome;
}

/// A new folder that is the working directory while it lives.
class WorkingFolder {
 public:
  WorkingFolder() : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(folder_.file(""));
  }
  ~WorkingFolder() { std::filesystem::current_path(before_); }
  WorkingFolder(WorkingFolder const&) = delete;
  WorkingFolder& operator=(WorkingFolder const&) = delete;

 private:
  TemporaryFolder folder_;
  std::filesystem::path before_;
};

inline void write_file(std::string const& path, std::string const& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Replaces the first `before` in a file.
inline void edit_file(std::string const& path, std::string const& before,
                      std::string const& after) {
  std::string text = slurp(path);
  auto const at = text.find(before);
  ASSERT_NE(at, std::string::npos) << before << " in " << path;
  write_file(path, text.replace(at, before.size(), after));
}

/// A network of three inputs (age, income, sex) that decides by income and, a little, by sex.
inline Network small_network() {
  Network network;
  DenseLayer hidden;
  hidden.name = "hidden";
  hidden.inputs = 3;
  hidden.outputs = 2;
  hidden.activation = Activation::kRelu;
  hidden.weights = {0.0F, 0.0F, 1.0F, 0.0F, 0.0F, 1.0F};
  hidden.bias = {0.0F, 0.0F};
  DenseLayer last;
  last.name = "decision";
  last.inputs = 2;
  last.outputs = 1;
  last.activation = Activation::kSigmoid;
  last.weights = {1.0F, 1.5F};
  last.bias = {-5.25F};
  network.layers = {hidden, last};
  return network;
}

/// Files for a run in the working directory: model.safetensors, data.csv, domain.yaml, config.yaml.
inline void write_small_run() {
  write_safetensors(small_network(), "model.safetensors");
  std::string table = "age,income,sex,class\n";
  for (int i = 0; i < 40; ++i) {
    int const income = i * 7 % 10;
    table += std::to_string(i % 10) + "," + std::to_string(income) + "," + std::to_string(i % 2) +
             "," + (income > 4 ? "1" : "0") + "\n";
  }
  write_file("data.csv", table);
  write_file("domain.yaml",
             "name: small\n"
             "label: class\n"
             "attributes:\n"
             "  - {name: age, low: 0, high: 9, protected: true}\n"
             "  - {name: income, low: 0, high: 9}\n"
             "  - {name: sex, low: 0, high: 1, protected: true, categories: [female, male]}\n");
  write_file("config.yaml",
             "model: model.safetensors\n"
             "data: data.csv\n"
             "domain: domain.yaml\n"
             "protected: [sex]\n"
             "method: eidig\n"
             "seed: 1\n"
             "global: {num: 10, clusters: 2}\n"
             "local: {num: 20}\n"
             "output: {dir: out}\n");
}

}  // namespace fairlane
