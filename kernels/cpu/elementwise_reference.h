// elementwise.h in double.
#pragma once

#include <cstdint>

namespace fg {

// The f32 nearest to a + b: the sum in double, rounded once more, which for two f32 is harmless.
float AddExact(float a, float b);

// The bits of the f16 nearest to `value`, ties to even, from the spacing of f16 around it.
uint16_t NearestF16(double value);

}  // namespace fg
