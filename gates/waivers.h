// gates/waivers.yaml: known failures with an owner and an end. Format: docs/matrix.md "Waivers".
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "gates/matrix.h"
#include "gates/verdict.h"

namespace flipgate {

// The waivers of one class. A file that does not exist holds none. kUsage with place: a cell that
// the matrix does not have (with the nearest), a date that is none, an empty reason, a cell twice.
fg::Result<std::vector<Waiver>> LoadWaivers(const std::string& path, const std::string& file_name,
                                            const Matrix& matrix,
                                            const std::string& hardware_class);
fg::Result<std::vector<Waiver>> ParseWaivers(std::string text, const std::string& file_name,
                                             const Matrix& matrix,
                                             const std::string& hardware_class);

// YYYY-MM-DD, of a month and day that exist.
bool IsDate(const std::string& text);

}  // namespace flipgate
