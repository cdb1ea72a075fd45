// What an older snapshot can say of head's gates: a gate born after it is off there, whatever head
// does.
#pragma once

#include <optional>
#include <string>

#include "gates/run_context.h"

namespace flipgate {

bool SnapshotKnows(const RunContext& context, const std::string& gate);

// Of `variables` those that the snapshot knows as gates: another would be a peculiar variable
// there.
Variables KnownToSnapshot(const RunContext& context, const Variables& variables);

// A gate that the snapshot does not know, on in head with `head` set, whose bits are its own: the
// two arms could not be equal. A gate of same bits may be young; being equal is what it promises.
std::optional<std::string> LackedBySnapshot(const RunContext& context, const Variables& head);

}  // namespace flipgate
