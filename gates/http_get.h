// A page from a port of this machine.
#pragma once

#include <string>

#include "base/process.h"
#include "base/status.h"

namespace flipgate {

// A port of 127.0.0.1 that nobody listened on when this was asked.
fg::Result<int> FreePort();

// GET / from 127.0.0.1:port: the whole answer, head and body, as it came until the other side
// closed. kIo says what failed; at most 1 MiB is read.
fg::Result<std::string> HttpGet(int port, fg::Deadline deadline);

}  // namespace flipgate
