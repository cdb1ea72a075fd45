#include "gates/cells.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gates/testing/small_matrix.h"

namespace flipgate {
namespace {

std::vector<std::string> Selected(const CellSelection& selection) {
  const auto cells = SelectCells(SmallMatrix(), "cpu", selection);
  EXPECT_TRUE(cells.ok()) << cells.status().message();
  std::vector<std::string> texts;
  for (const CellId& cell : *cells) texts.push_back(cell.Text());
  return texts;
}

std::string Refused(const CellSelection& selection, const std::string& hardware_class = "cpu") {
  const auto cells = SelectCells(SmallMatrix(), hardware_class, selection);
  EXPECT_FALSE(cells.ok());
  EXPECT_EQ(cells.status().kind(), fg::ErrorKind::kUsage);
  return cells.status().message();
}

using Texts = std::vector<std::string>;

TEST(SelectCells, NothingNamedMeansAll) {
  EXPECT_EQ(Selected({}), (Texts{"parity/default/a", "parity/default/b", "parity/FG_A/a",
                                 "parity/FG_A/b", "parity/FG_B/a", "lattice/default/a"}));
}

TEST(SelectCells, NamesKindGateAndModel) {
  EXPECT_EQ(Selected({.cells = {"parity/FG_A"}, .without = {}}),
            (Texts{"parity/FG_A/a", "parity/FG_A/b"}));
  EXPECT_EQ(Selected({.cells = {"lattice", "parity/default/b"}, .without = {}}),
            (Texts{"parity/default/b", "lattice/default/a"}));
  EXPECT_EQ(Selected({.cells = {}, .without = {"parity"}}), Texts{"lattice/default/a"});
  EXPECT_EQ(Selected({.cells = {"parity/FG_A/a", "parity/FG_A"}, .without = {}}).size(), 2u);
}

TEST(SelectCells, SaysWhatIsWrongWithASelection) {
  EXPECT_EQ(Refused({.cells = {"partiy"}, .without = {}}),
            "--cell partiy: unknown kind of evidence 'partiy'; did you mean 'parity'?");
  EXPECT_EQ(Refused({.cells = {"parity/FG_AA"}, .without = {}}),
            "--cell parity/FG_AA: unknown gate 'FG_AA'; did you mean 'FG_A'?");
  EXPECT_EQ(Refused({.cells = {"parity/FG_A/c"}, .without = {}}),
            "--cell parity/FG_A/c: unknown model 'c'; did you mean 'a'?");
  EXPECT_EQ(Refused({.cells = {"parity/FG_A/a/x"}, .without = {}}),
            "--cell parity/FG_A/a/x: a cell is KIND, KIND/GATE or KIND/GATE/MODEL");
  EXPECT_EQ(Refused({.cells = {"lattice/FG_B"}, .without = {}}),
            "--cell lattice/FG_B: lattice/FG_B is shared with default; run --cell lattice/default");
  EXPECT_EQ(Refused({.cells = {"lattice/FG_A"}, .without = {}}),
            "--cell lattice/FG_A: lattice/FG_A is not applicable: its bits differ");
  EXPECT_EQ(
      Refused({.cells = {"parity/FG_B/b"}, .without = {}}),
      "--cell parity/FG_B/b: no such cell on class cpu; `flipgate list` shows those there are");
  EXPECT_EQ(Refused({.cells = {}, .without = {"latice"}}),
            "--without latice: unknown kind of evidence 'latice'; did you mean 'lattice'?");
  EXPECT_EQ(Refused({.cells = {"parity"}, .without = {"parity"}}),
            "--cell and --without together leave no cell");
}

TEST(ParseCellId, TakesThreeParts) {
  EXPECT_EQ(ParseCellId("parity/FG_A/a")->Text(), "parity/FG_A/a");
  for (const char* bad : {"parity", "parity/FG_A", "parity//a", "a/b/c/d", ""}) {
    EXPECT_EQ(ParseCellId(bad).status().message(),
              fmt::format("'{}' is no cell: KIND/GATE/MODEL", bad));
  }
}

}  // namespace
}  // namespace flipgate
