// The `fairlane` command.
#include "apps/cli.h"

int main(int argc, char** argv) { return fairlane::fairlane_main(argc, argv); }
