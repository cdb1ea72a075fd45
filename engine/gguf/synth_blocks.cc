#include "engine/gguf/synth_blocks.h"

#include <cstring>

#include "kernels/formats/blocks.h"
#include "kernels/formats/half.h"

namespace fg {
namespace {

// Standard deviations of the integers that are drawn: n values, each as likely, (n^2 - 1) / 12.
constexpr float kOf16 = 4.6097722f;
constexpr float kOf32 = 9.2330925f;
constexpr float kOf64 = 18.472953f;
constexpr float kOf255 = 73.611593f;
// Scales of sub-blocks are drawn from 32..63; the root of their mean square.
constexpr float kScale = 48.389564f;
// A number in [-1, 1) has a standard deviation of one over this.
constexpr float kOfUnit = 1.7320508f;

// In [-1, 1), a multiple of 2^-23.
float Unit(uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-23f - 1.0f; }

// Blocks of one tensor differ in scale by up to a quarter.
float Varied(float scale, uint64_t bits) {
  return scale * (1.0f + 0.25f * Unit(static_cast<uint32_t>(bits)));
}

// Types whose integers have a mean of -1/2 take the scale's sign from a coin: with one sign, that
// half would add up over a row of inputs whose mean is not 0.
uint16_t SignedScale(float scale, uint64_t bits) {
  const float varied = Varied(scale, bits);
  return F32ToF16((bits >> 63) != 0 ? -varied : varied);
}

void Fill(SynthRandom* random, void* out, size_t bytes) {
  auto* at = static_cast<uint8_t*>(out);
  for (; bytes >= 8; bytes -= 8, at += 8) {
    const uint64_t bits = random->Next();
    std::memcpy(at, &bits, 8);
  }
  const uint64_t bits = random->Next();
  std::memcpy(at, &bits, bytes);
}

void Make(float deviation, SynthRandom* random, BlockQ4_0* block) {
  block->d = SignedScale(deviation / kOf16, random->Next());
  Fill(random, block->q, sizeof(block->q));
}

void Make(float deviation, SynthRandom* random, BlockQ5_0* block) {
  block->d = SignedScale(deviation / kOf32, random->Next());
  Fill(random, reinterpret_cast<uint8_t*>(block) + sizeof(block->d),
       sizeof(*block) - sizeof(block->d));
}

void Make(float deviation, SynthRandom* random, BlockQ8_0* block) {
  block->d = SignedScale(deviation / kOf255, random->Next());
  Fill(random, block->q, sizeof(block->q));
  for (int8_t& q : block->q) q = q == -128 ? -127 : q;  // the encoder never gives -128
}

// value = d*sc*n - dmin*m with m = sc and dmin = 7.5 d: n - 7.5 has a mean of 0.
void Make(float deviation, SynthRandom* random, BlockQ4_K* block) {
  const float d = Varied(deviation / (kOf16 * kScale), random->Next());
  block->d = F32ToF16(d);
  block->dmin = F32ToF16(7.5f * F16ToF32(block->d));
  uint64_t bits = random->Next();
  std::memset(block->s, 0, sizeof(block->s));
  for (int j = 0; j < 8; ++j, bits >>= 5) {
    const auto scale = static_cast<uint8_t>(32 + (bits & 31));
    PackScaleMin({scale, scale}, j, block->s);
  }
  Fill(random, block->q, sizeof(block->q));
}

void Make(float deviation, SynthRandom* random, BlockQ6_K* block) {
  block->d = F32ToF16(Varied(deviation / (kOf64 * kScale), random->Next()));
  uint64_t bits[2] = {random->Next(), random->Next()};
  for (int j = 0; j < 16; ++j) {
    uint64_t& from = bits[j / 8];
    const int scale = 32 + static_cast<int>(from & 31);
    block->scales[j] = static_cast<int8_t>((from & 32) != 0 ? -scale : scale);
    from >>= 6;
  }
  Fill(random, block->ql, sizeof(block->ql));
  Fill(random, block->qh, sizeof(block->qh));
}

template <typename Block>
void MakeAll(float deviation, SynthRandom random, int64_t blocks, void* out) {
  for (int64_t i = 0; i < blocks; ++i) {
    Make(deviation, &random, static_cast<Block*>(out) + i);
  }
}

void MakeHalves(float deviation, SynthRandom random, int64_t blocks, uint16_t* out) {
  const float spread = deviation * kOfUnit;
  uint64_t bits = 0;
  for (int64_t i = 0; i < blocks; ++i, bits >>= 32) {
    if (i % 2 == 0) bits = random.Next();
    out[i] = F32ToF16(spread * Unit(static_cast<uint32_t>(bits)));
  }
}

}  // namespace

uint64_t SynthStream(uint64_t seed, uint64_t tensor, uint64_t piece) {
  uint64_t stream = seed;
  for (const uint64_t part : {tensor, piece}) stream = SynthRandom(stream).Next() + part;
  return SynthRandom(stream).Next();
}

bool SynthBlocks(TensorType type, float deviation, SynthRandom random, int64_t blocks, void* out) {
  switch (type) {
    case TensorType::kF32:
      SynthValues(0, deviation * kOfUnit, random, blocks, static_cast<float*>(out));
      return true;
    case TensorType::kF16:
      MakeHalves(deviation, random, blocks, static_cast<uint16_t*>(out));
      return true;
    case TensorType::kQ4_0:
      MakeAll<BlockQ4_0>(deviation, random, blocks, out);
      return true;
    case TensorType::kQ5_0:
      MakeAll<BlockQ5_0>(deviation, random, blocks, out);
      return true;
    case TensorType::kQ8_0:
      MakeAll<BlockQ8_0>(deviation, random, blocks, out);
      return true;
    case TensorType::kQ4_K:
      MakeAll<BlockQ4_K>(deviation, random, blocks, out);
      return true;
    case TensorType::kQ6_K:
      MakeAll<BlockQ6_K>(deviation, random, blocks, out);
      return true;
    default:
      return false;
  }
}

void SynthValues(float centre, float spread, SynthRandom random, int64_t n, float* values) {
  uint64_t bits = 0;
  for (int64_t i = 0; i < n; ++i, bits >>= 32) {
    if (i % 2 == 0) bits = random.Next();
    values[i] = centre + spread * Unit(static_cast<uint32_t>(bits));
  }
}

}  // namespace fg
