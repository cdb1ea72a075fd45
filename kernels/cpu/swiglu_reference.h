// swiglu.h twice over: its contract in the plainest C++, and exact double.
#pragma once

namespace fg {

float SwigluContract(float g, float u);
double SwigluExact(float g, float u);

// |contract - exact|: exp within one ulp (2 units of 2^-24), sum, quotient and product, one unit
// each; and where exp(-g) overflows, g * e^g, which is then dropped.
double SwigluBound(float g, float u);

}  // namespace fg
