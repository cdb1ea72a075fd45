// What the live view answers: a page of its own resources only, and a stream of events.
#pragma once

#include <string>
#include <string_view>

#include "engine/readers/http_request.h"

namespace fg {

// A whole answer that closes the connection.
std::string HttpAnswer(int status, std::string_view type, std::string_view body);

// The answer to a request that was read (status 200) or refused: "/", "/live.js", "/live.css",
// "/events"; 404 for another path, 405 for another method than GET, 403 for another host than
// this one. *streaming: the answer is the head of a stream of events that follow.
std::string LiveAnswer(const HttpReading& reading, int port, bool* streaming);

}  // namespace fg
