// The folder in which a test may write. Tests run side by side, one process a case: a fixed name
// under /tmp would be shared by two of them.
#pragma once

#include <string>

namespace fg {

// Made at the first call, of this process alone, removed with its contents when the process ends.
// Ends in '/'.
const std::string& ProcessTempDir();

}  // namespace fg
