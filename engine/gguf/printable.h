// Text that comes from a file, made fit for a message.
#pragma once

#include <string>
#include <string_view>

namespace fg {

// 'text' in single quotes: quotes, backslashes and all bytes outside printable ASCII as \xNN, and
// no more than the first 64 bytes, followed by "..." where there were more.
std::string Printable(std::string_view text);

}  // namespace fg
