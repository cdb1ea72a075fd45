// A bundle as JUnit XML: one test case a cell, one suite a kind, and the verdict as a case of its
// own.
#pragma once

#include <string>

#include "gates/bundle.h"

namespace flipgate {

std::string JUnitXml(const Bundle& bundle);

}  // namespace flipgate
