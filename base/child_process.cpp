#include "base/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace fairlane {

namespace {

constexpr int kPipeBytes = 1 << 20;  // what Linux grants to everybody
constexpr std::size_t kKeptBytes = 8192;
constexpr std::size_t kShownBytes = 300;
constexpr int kShownLines = 3;
constexpr auto kNap = std::chrono::milliseconds(1);

using Clock = std::chrono::steady_clock;

void close_once(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

/// The two ends of a pipe, neither inherited by programs; both closed in the end unless taken.
class Pipe {
 public:
  explicit Pipe(std::string const& source) {
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) == 0) {
      read_ = ends[0];
      write_ = ends[1];
      if (above_standard(read_) && above_standard(write_)) return;
    }
    int const problem = errno;
    close_once(read_);
    close_once(write_);
    throw Error(ExitCode::kUnavailable,
                fmt::format("{}: no pipe to a child: {}", source, std::strerror(problem)));
  }
  ~Pipe() {
    close_once(read_);
    close_once(write_);
  }
  Pipe(Pipe const&) = delete;
  Pipe& operator=(Pipe const&) = delete;

  int reader() const { return read_; }
  int writer() const { return write_; }
  void close_writer() { close_once(write_); }
  int take_reader() { return ours(std::exchange(read_, -1)); }
  int take_writer() { return ours(std::exchange(write_, -1)); }

 private:
  /// Standard descriptors that we were started without would be overwritten in the child.
  static bool above_standard(int& fd) {
    if (fd > STDERR_FILENO) return true;
    int const higher = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (higher < 0) return false;
    close(fd);
    fd = higher;
    return true;
  }
  static int ours(int fd) {
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    fcntl(fd, F_SETPIPE_SZ, kPipeBytes);  // as large as it may be; otherwise it is slower
    return fd;
  }

  int read_ = -1;
  int write_ = -1;
};

/// Our environment. Several children side by side, each with a thread for every core, would get in
/// each other's way.
std::vector<std::string> child_environment() {
  std::vector<std::string> variables;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) variables.emplace_back(*at);
  if (std::getenv("OMP_NUM_THREADS") == nullptr) variables.emplace_back("OMP_NUM_THREADS=1");
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

/// What kept a child from starting, sent through a pipe that a successful exec closes.
struct StartProblem {
  int code = 0;
  bool in_folder = false;
};

struct StartPlan {
  char* const* words;
  char* const* environment;
  char const* folder;  // nullptr: stay
  int input, output, errors, problem;
  pid_t parent;
  bool parent_stays;  // the kernel may kill the child when the thread that started it ends
};

/// The child between fork and exec: only what is safe after a fork of several threads.
[[noreturn]] void become(StartPlan const& plan) {
  setpgid(0, 0);
  if (plan.parent_stays) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != plan.parent) _exit(127);
  }
  dup2(plan.input, STDIN_FILENO);
  dup2(plan.output, STDOUT_FILENO);
  dup2(plan.errors, STDERR_FILENO);
#ifdef SYS_close_range
  constexpr unsigned kCloseOnExec = 1U << 2;  // CLOSE_RANGE_CLOEXEC
  syscall(SYS_close_range, unsigned{STDERR_FILENO + 1}, ~0U, kCloseOnExec);
#endif
  struct sigaction normal {};
  normal.sa_handler = SIG_DFL;
  for (int const number : {SIGPIPE, SIGHUP, SIGINT, SIGTERM, SIGCHLD})
    sigaction(number, &normal, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  StartProblem problem;
  problem.in_folder = plan.folder != nullptr && chdir(plan.folder) != 0;
  if (!problem.in_folder) execvpe(plan.words[0], plan.words, plan.environment);
  problem.code = errno;
  [[maybe_unused]] auto const sent = write(plan.problem, &problem, sizeof problem);
  _exit(127);
}

std::string start_hint(std::string const& program, std::string const& folder, int code) {
  bool const on_path = program.find('/') == std::string::npos;
  std::error_code ec;
  if (code == ENOENT && on_path &&
      std::filesystem::exists(std::filesystem::path(folder) / program, ec)) {
    return fmt::format("; it is no command, but a file: write {}", in_quotes("./" + program));
  }
  if (code == ENOENT) return on_path ? "; is it installed, and on PATH?" : "; is the path right?";
  if (code == EACCES) return "; make it executable, or name its interpreter: python3 FILE";
  return "";
}

}  // namespace

std::vector<std::string> command_words(std::string const& source, std::string const& command) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  auto const extend = [&](char c) {
    if (!in_word) words.emplace_back();
    in_word = true;
    if (c != 0) words.back() += c;
  };
  for (std::size_t i = 0; i < command.size(); ++i) {
    char const c = command[i];
    char const next = i + 1 < command.size() ? command[i + 1] : '\0';
    if (c == '\0') {
      throw Error(ExitCode::kConfig, fmt::format("{}: a NUL in the command", source));
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
      extend(0);  // '' is a word
    } else if (c == quote) {
      quote = 0;
    } else if (c == '\\' && next != 0 &&
               (quote == 0 || (quote == '"' && (next == '"' || next == '\\')))) {
      extend(next);
      ++i;
    } else if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      in_word = false;
    } else {
      extend(c);
    }
  }
  if (quote != 0) {
    throw Error(ExitCode::kConfig,
                fmt::format("{}: the quote {} in the command is not closed", source, quote));
  }
  if (words.empty() || words.front().empty()) {
    throw Error(ExitCode::kConfig,
                fmt::format("{}: expected a command, such as exec:python3 model.py", source));
  }
  return words;
}

std::string running_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

ChildProcess::ChildProcess(std::string const& source, std::vector<std::string> const& words,
                           std::string const& folder) {
  auto const unavailable = [&](std::string const& what) {
    return Error(ExitCode::kUnavailable, fmt::format("{}: {}", source, what));
  };
  Pipe in(source);
  Pipe out(source);
  Pipe err(source);
  Pipe problem_pipe(source);
  std::vector<std::string> word_texts = words;
  std::vector<std::string> variables = child_environment();
  std::vector<char*> const word_pointers = pointers(word_texts);
  std::vector<char*> const variable_pointers = pointers(variables);
  StartPlan const plan{word_pointers.data(),
                       variable_pointers.data(),
                       folder.empty() ? nullptr : folder.c_str(),
                       in.reader(),
                       out.writer(),
                       err.writer(),
                       problem_pipe.writer(),
                       getpid(),
                       gettid() == getpid()};
  pid_t const pid = fork();
  if (pid < 0) throw unavailable(fmt::format("no process for a child: {}", std::strerror(errno)));
  if (pid == 0) become(plan);
  setpgid(pid, pid);  // here too: whoever is first
  pid_ = pid;
  problem_pipe.close_writer();
  StartProblem problem;
  ssize_t got = 0;
  do {
    got = read(problem_pipe.reader(), &problem, sizeof problem);
  } while (got < 0 && errno == EINTR);
  if (got == static_cast<ssize_t>(sizeof problem)) {
    end(std::chrono::seconds(1));  // it is ending; the destructor does not run for us
    char const* const why = std::strerror(problem.code);
    if (problem.in_folder)
      throw unavailable(fmt::format("cannot run in {}: {}", in_quotes(folder, 4096), why));
    throw unavailable(fmt::format("cannot start {}: {}{}", in_quotes(words[0], 200), why,
                                  start_hint(words[0], folder, problem.code)));
  }
  input_ = in.take_writer();
  output_ = out.take_reader();
  errors_ = err.take_reader();
}

ChildProcess::~ChildProcess() { end(std::chrono::milliseconds(0)); }

std::size_t ChildProcess::send(std::span<iovec const> parts) {
  if (input_ < 0) return 0;
  // A pipe without a reader sends SIGPIPE to the writing thread: hold it back, and take it where it
  // is ours.
  sigset_t broken;
  sigset_t before;
  sigset_t pending;
  sigemptyset(&broken);
  sigaddset(&broken, SIGPIPE);
  sigpending(&pending);
  pthread_sigmask(SIG_BLOCK, &broken, &before);
  ssize_t written = 0;
  do {
    written = writev(input_, parts.data(), static_cast<int>(parts.size()));
  } while (written < 0 && errno == EINTR);
  if (written < 0 && errno != EAGAIN) {
    if (errno == EPIPE && sigismember(&pending, SIGPIPE) == 0) {
      timespec const now{};
      while (sigtimedwait(&broken, nullptr, &now) < 0 && errno == EINTR) {
      }
    }
    close_input();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return written < 0 ? 0 : static_cast<std::size_t>(written);
}

void ChildProcess::close_input() { close_once(input_); }

std::size_t ChildProcess::receive(void* to, std::size_t size) {
  if (output_ < 0 || size == 0) return 0;
  ssize_t got = 0;
  do {
    got = read(output_, to, size);
  } while (got < 0 && errno == EINTR);
  if (got == 0 || (got < 0 && errno != EAGAIN)) close_once(output_);
  return got < 0 ? 0 : static_cast<std::size_t>(got);
}

std::string ChildProcess::receive_all(std::chrono::milliseconds patience, std::size_t most) {
  constexpr int kPollMilliseconds = 100;
  auto const until = Clock::now() + patience;
  std::string text;
  while (output_ >= 0 && text.size() < most && Clock::now() < until) {
    pollfd ends[] = {{output_, POLLIN, 0}, {errors_, POLLIN, 0}};
    poll(ends, std::size(ends), kPollMilliseconds);
    char bytes[4096];
    text.append(bytes, receive(bytes, sizeof bytes));
    keep_errors();
  }
  return text;
}

void ChildProcess::keep_errors() {
  // At most what a pipe holds, so that a child that writes without end does not keep us.
  char bytes[4096];
  for (int budget = kPipeBytes; errors_ >= 0 && budget > 0;) {
    ssize_t const got = read(errors_, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      close_once(errors_);
    } else {
      budget -= static_cast<int>(got);
      kept_.append(bytes, static_cast<std::size_t>(got));
      if (kept_.size() > 2 * kKeptBytes) kept_.erase(0, kept_.size() - kKeptBytes);
    }
  }
}

std::optional<std::string> ChildProcess::end(std::chrono::milliseconds grace) {
  close_input();
  if (pid_ < 0) return "has ended";
  siginfo_t info{};
  auto const has_ended = [&] {
    info.si_pid = 0;
    return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           info.si_pid != 0;
  };
  auto const until = Clock::now() + grace;
  bool ended = has_ended();
  while (!ended && Clock::now() < until) {
    keep_errors();
    std::this_thread::sleep_for(kNap);
    ended = has_ended();
  }
  kill(-pid_,
       SIGKILL);  // what it started, too: the number stays its own until it has been waited for
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  keep_errors();
  close_once(output_);
  close_once(errors_);
  if (!ended) return std::nullopt;
  if (WIFSIGNALED(status)) {
    return fmt::format("was ended by signal {} ({})", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
  }
  return fmt::format("exited with status {}", WEXITSTATUS(status));
}

std::string ChildProcess::last_line() const {
  std::size_t const end = kept_.rfind('\n');
  if (end == std::string::npos || end == 0) return "";
  std::size_t const before = kept_.rfind('\n', end - 1);
  std::size_t const begin = before == std::string::npos ? 0 : before + 1;
  return kept_.substr(begin, end - begin);
}

void ChildProcess::signal(int number) const {
  if (pid_ >= 0) kill(pid_, number);
}

std::string ChildProcess::last_errors() const {
  std::string_view text = kept_;
  auto const last = text.find_last_not_of(" \t\r\n");
  if (last == std::string_view::npos) return "; its stderr is empty";
  text = text.substr(0, last + 1);
  std::size_t first = text.size();
  for (int line = 0; line < kShownLines && first != 0; ++line) {
    auto const before = first == text.size() ? first : first - 1;
    auto const newline = before == 0 ? std::string_view::npos : text.rfind('\n', before - 1);
    first = newline == std::string_view::npos ? 0 : newline + 1;
  }
  bool const shortened = text.size() - first > kShownBytes;
  if (shortened) first = text.size() - kShownBytes;
  return fmt::format("; its stderr ends with '{}{}'", shortened ? "..." : "",
                     escaped(text.substr(first), kShownBytes));
}

}  // namespace fairlane
