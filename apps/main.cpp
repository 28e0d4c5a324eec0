// The `fairlane` command.
#include <fcntl.h>
#include <unistd.h>

#include "apps/cli.h"

namespace {

/// Opens what the caller has closed of the standard streams: the next file would get its number,
/// and what is printed would go into that file. Nothing can be written to what stands in for them.
void hold_standard_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    bool const is_open = fcntl(stream, F_GETFD) != -1;
    if (!is_open && open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

}  // namespace

int main(int argc, char** argv) {
  hold_standard_streams();
  return fairlane::fairlane_main(argc, argv);
}
