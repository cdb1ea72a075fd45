// The variants behind Mmq, one file a form, type and level. Arguments as for Mmq; a variant takes
// the faults that its own arithmetic can show and ignores the others.
#pragma once

#include "kernels/cpu/mmq.h"
#include "kernels/cpu/range.h"
#include "kernels/kernel_fault.h"

namespace fg {

// Rows that share one staged weight tile; their accumulators live on the stack (4 KiB for 16
// outputs). It bounds memory alone: each output's chain is the same for every value.
constexpr int kMmqRowBlock = 64;

void MmqGenericPlain(const MmqArgs& args, Range outs);
void MmqGenericAvx2(const MmqArgs& args, Range outs);
void MmqGenericAvx512(const MmqArgs& args, Range outs);
void MmqQ4KRawPlain(const MmqArgs& args, Range outs, KernelFault fault);
void MmqQ4KRawAvx2(const MmqArgs& args, Range outs, KernelFault fault);
void MmqQ4KRawAvx512(const MmqArgs& args, Range outs, KernelFault fault);
void MmqQ4KNibblePlain(const MmqArgs& args, Range outs, KernelFault fault);
void MmqQ4KNibbleAvx2(const MmqArgs& args, Range outs, KernelFault fault);
void MmqQ4KNibbleAvx512(const MmqArgs& args, Range outs, KernelFault fault);
void MmqQ6KNibblePlain(const MmqArgs& args, Range outs, KernelFault fault);
void MmqQ6KNibbleAvx2(const MmqArgs& args, Range outs, KernelFault fault);
void MmqQ6KNibbleAvx512(const MmqArgs& args, Range outs, KernelFault fault);

}  // namespace fg
