// promotion/defaults.yaml as the suite reads it: stages and values per class, and their hash.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "gates/project.h"

namespace flipgate {

struct DefaultRow {
  std::string gate;
  bool promoted = false;
  std::string value;  // of a promoted gate: "1", or a mode's name
};

// One class's column, in the order of the file's rows. A class that a row leaves out, and class
// `other`, is opt-in. kUsage with place.
fg::Result<std::vector<DefaultRow>> ReadDefaults(const std::string& text,
                                                 const std::string& file_name,
                                                 const std::string& hardware_class);

// The list `classes:` of the file. kUsage with place.
fg::Result<std::vector<std::string>> ReadClasses(const std::string& text,
                                                 const std::string& file_name);

// kUsage "unknown hardware class 'X'; did you mean 'Y'?; the classes of FILE are ..." for a class
// that the project's file of defaults does not list. A project without that file takes every class.
fg::Status CheckClass(const Project& project, const std::string& hardware_class);

// defaults[class] of docs/hashes.md.
std::string DefaultsHash(const std::vector<DefaultRow>& rows);

}  // namespace flipgate
