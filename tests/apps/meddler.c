/* Preloaded into a process, meddles with the calls that change files, which it counts:
 *   MEDDLER_FAIL=N   the N-th fsync or fdatasync fails with EIO
 *   MEDDLER_DIE=N    the process kills itself at the N-th change of a file; of a write, half is done
 *   MEDDLER_ROLE     "worker": only workers of a sweep; "other": only other processes; unset: all
 *   MEDDLER_MARK     a file that gets a byte whenever it has meddled
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static int g_fail_at, g_die_at, g_flushes, g_changes;

/* Whether the process is a worker: `fairlane sweep work ...`. */
static int is_worker(void) {
  char words[4096];
  int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0);
  ssize_t size = fd < 0 ? 0 : read(fd, words, sizeof words - 1);
  if (fd >= 0) syscall(SYS_close, fd);
  words[size > 0 ? size : 0] = 0;
  for (ssize_t at = 0; at < size; at += (ssize_t)strlen(words + at) + 1) {
    if (strcmp(words + at, "work") == 0) return 1;
  }
  return 0;
}

__attribute__((constructor)) static void begin(void) {
  char const* role = getenv("MEDDLER_ROLE");
  if (role != NULL && (strcmp(role, "worker") == 0) != is_worker()) return;
  if (getenv("MEDDLER_FAIL") != NULL) g_fail_at = atoi(getenv("MEDDLER_FAIL"));
  if (getenv("MEDDLER_DIE") != NULL) g_die_at = atoi(getenv("MEDDLER_DIE"));
}

static void mark(void) {
  char const* path = getenv("MEDDLER_MARK");
  if (path == NULL) return;
  int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) return;
  syscall(SYS_write, fd, "x", 1);
  syscall(SYS_close, fd);
}

/* Whether this change is the last one. */
static int is_last(void) {
  return g_die_at > 0 && __atomic_add_fetch(&g_changes, 1, __ATOMIC_RELAXED) == g_die_at;
}

static void die(void) {
  mark();
  syscall(SYS_kill, getpid(), SIGKILL);
}

static int fails(void) {
  if (g_fail_at == 0 || __atomic_add_fetch(&g_flushes, 1, __ATOMIC_RELAXED) != g_fail_at) return 0;
  mark();
  errno = EIO;
  return 1;
}

static int is_file(int fd) {
  struct stat info;
  return fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

#define NEXT(name) __typeof__(&name) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

int fsync(int fd) {
  NEXT(fsync);
  if (is_last()) die();
  return fails() ? -1 : next(fd);
}

int fdatasync(int fd) {
  NEXT(fdatasync);
  if (is_last()) die();
  return fails() ? -1 : next(fd);
}

ssize_t write(int fd, void const* data, size_t size) {
  NEXT(write);
  if (g_die_at > 0 && is_file(fd) && is_last()) {
    next(fd, data, size / 2);
    die();
  }
  return next(fd, data, size);
}

ssize_t pwrite(int fd, void const* data, size_t size, off_t at) {
  NEXT(pwrite);
  if (is_last()) {
    next(fd, data, size / 2, at);
    die();
  }
  return next(fd, data, size, at);
}

int rename(char const* from, char const* to) {
  NEXT(rename);
  if (is_last()) die();
  return next(from, to);
}

int unlink(char const* path) {
  NEXT(unlink);
  if (is_last()) die();
  return next(path);
}

int unlinkat(int fd, char const* path, int flags) {
  NEXT(unlinkat);
  if (is_last()) die();
  return next(fd, path, flags);
}

int rmdir(char const* path) {
  NEXT(rmdir);
  if (is_last()) die();
  return next(path);
}

int mkdir(char const* path, mode_t mode) {
  NEXT(mkdir);
  if (is_last()) die();
  return next(path, mode);
}

int ftruncate(int fd, off_t size) {
  NEXT(ftruncate);
  if (is_last()) die();
  return next(fd, size);
}
