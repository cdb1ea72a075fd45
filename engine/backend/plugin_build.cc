// Linked into fg-engine and into each plugin.
#include <string>

#include "engine/backend/device_plugin.h"
#include "engine/build_info.h"

namespace fg {

std::string PluginBuild() {
  const BuildInfo& build = ThisBuild();
  // Sources that no commit holds bear no hash of their own: the sizes of what crosses the border
  // catch most of what their change could break.
  std::string sizes;
  for (const size_t size : {sizeof(Gates), sizeof(Settings), sizeof(Ledger), sizeof(MemoryBook),
                            sizeof(DeviceInfo), sizeof(ModelWeights), sizeof(Hyperparameters),
                            sizeof(Graph), sizeof(ForwardInputs), sizeof(BackendOptions)}) {
    sizes += (sizes.empty() ? "" : ",") + std::to_string(size);
  }
  return build.version + "; " + build.compiler + "; " + build.flags + "; engine " +
         (build.engine_hash.empty() ? "unknown" : build.engine_hash) + "; sizes " + sizes;
}

}  // namespace fg
