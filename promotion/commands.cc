// The table of commands, in the order of the help. Adding one is a file command_NAME.{h,cc} and a
// row here.
#include "promotion/cli.h"
#include "promotion/command_cell_status.h"
#include "promotion/command_compare.h"
#include "promotion/command_demo.h"
#include "promotion/command_diff.h"
#include "promotion/command_doctor.h"
#include "promotion/command_explain.h"
#include "promotion/command_list.h"
#include "promotion/command_pack.h"
#include "promotion/command_run.h"
#include "promotion/command_selfcheck.h"
#include "promotion/command_snapshot.h"
#include "promotion/command_stamp.h"
#include "promotion/command_verify.h"

namespace flipgate {

const std::vector<RegisterCommand>& AllCommands() {
  static const std::vector<RegisterCommand> kCommands = {
      &RegisterRun,     &RegisterList, &RegisterExplain,   &RegisterVerify,   &RegisterDiff,
      &RegisterCompare, &RegisterPack, &RegisterSelfCheck, &RegisterSnapshot, &RegisterStamp,
      &RegisterDoctor,  &RegisterDemo, &RegisterCellStatus};
  return kCommands;
}

}  // namespace flipgate
