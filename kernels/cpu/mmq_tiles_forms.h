// The variants behind MmqTiles, one file a type and level. Arguments as for MmqTiles; a variant
// takes the faults that its own arithmetic can show and ignores the others.
#pragma once

#include "kernels/cpu/mmq_tiles.h"
#include "kernels/cpu/range.h"
#include "kernels/kernel_fault.h"

namespace fg {

void MmqTilesQ4KPlain(const MmqTilesArgs& args, Range outs, KernelFault fault);
void MmqTilesQ4KAvx2(const MmqTilesArgs& args, Range outs, KernelFault fault);
void MmqTilesQ4KAvx512(const MmqTilesArgs& args, Range outs, KernelFault fault);
void MmqTilesQ6KPlain(const MmqTilesArgs& args, Range outs, KernelFault fault);
void MmqTilesQ6KAvx2(const MmqTilesArgs& args, Range outs, KernelFault fault);
void MmqTilesQ6KAvx512(const MmqTilesArgs& args, Range outs, KernelFault fault);

}  // namespace fg
