// The defaults that promotion/defaults.yaml had when this engine was built.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/gates_table.h"

namespace fg {

// Every class that the file names, in its order.
const std::vector<ClassDefaults>& CompiledDefaults();

// A class that the file does not name has every gate at opt-in.
ClassDefaults DefaultsOf(std::string_view hardware_class);

// One line a gate in registry order, "NAME opt_in\n" or "NAME promoted VALUE\n", and its sha256:
// docs/hashes.md.
std::string CanonicalDefaults(const ClassDefaults& defaults);
std::string DefaultsHash(const ClassDefaults& defaults);

}  // namespace fg
