#include "gates/waivers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/file.h"
#include "base/nearest.h"
#include "gates/cells.h"
#include "gates/yaml_document.h"

namespace flipgate {
namespace {

using fg::Result;
using fg::Status;

// The cell must be one of the class that the waiver names, which need not be the class of this run.
Status CheckCell(const YamlDocument& document, const YamlNode& node, const Matrix& matrix,
                 const std::string& hardware_class, const std::string& text) {
  std::vector<std::string> known;
  for (const CellId& cell : matrix.Cells(hardware_class)) known.push_back(cell.Text());
  if (std::find(known.begin(), known.end(), text) != known.end()) return Status::Ok();
  return document.Error(node.mark, fmt::format("'{}' is no cell of class {}{}", text,
                                               hardware_class, fg::DidYouMean(text, known)));
}

Result<Waiver> ReadWaiver(const YamlDocument& document, const YamlNode& node,
                          const Matrix& matrix) {
  FG_ASSIGN_OR_RETURN(YamlMap map, YamlMap::Open(document, node, "a waiver"));
  Waiver waiver;
  std::string cell;
  const YamlNode* cell_node = nullptr;
  for (const auto& [key, field] :
       std::vector<std::pair<std::string, std::string*>>{{"cell", &cell},
                                                         {"class", &waiver.hardware_class},
                                                         {"issue", &waiver.issue},
                                                         {"owner", &waiver.owner},
                                                         {"reason", &waiver.reason},
                                                         {"expires", &waiver.expires}}) {
    FG_ASSIGN_OR_RETURN(const YamlNode* value, map.Required(key));
    FG_ASSIGN_OR_RETURN(*field, document.String(*value, "a waiver's " + key));
    if (key == "cell") cell_node = value;
    if (key == "expires" && !IsDate(waiver.expires)) {
      return document.Error(
          value->mark,
          "a waiver's expires must be a date such as 2026-12-31, is '" + waiver.expires + "'");
    }
  }
  FG_RETURN_IF_ERROR(map.Finish());
  FG_RETURN_IF_ERROR(CheckCell(document, *cell_node, matrix, waiver.hardware_class, cell));
  FG_ASSIGN_OR_RETURN(waiver.cell, ParseCellId(cell));
  return waiver;
}

}  // namespace

bool IsDate(const std::string& text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  for (const size_t i : {0, 1, 2, 3, 5, 6, 8, 9}) {
    if (!std::isdigit(static_cast<unsigned char>(text[i]))) return false;
  }
  const int month = std::stoi(text.substr(5, 2)), day = std::stoi(text.substr(8, 2));
  static constexpr int kDays[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month >= 1 && month <= 12 && day >= 1 && day <= kDays[month - 1];
}

Result<std::vector<Waiver>> ParseWaivers(std::string text, const std::string& file_name,
                                         const Matrix& matrix, const std::string& hardware_class) {
  FG_ASSIGN_OR_RETURN(const YamlDocument document, YamlDocument::Parse(std::move(text), file_name));
  FG_ASSIGN_OR_RETURN(YamlMap map, YamlMap::Open(document, document.root(), "the file of waivers"));
  FG_ASSIGN_OR_RETURN(const YamlNode* version, map.Required("version"));
  FG_ASSIGN_OR_RETURN(const int64_t number, document.Integer(*version, "version"));
  if (number != 1)
    return document.Error(
        version->mark, fmt::format("this program reads version 1 of the waivers, not {}", number));
  FG_ASSIGN_OR_RETURN(const YamlNode* list, map.Required("waivers"));
  FG_RETURN_IF_ERROR(map.Finish());
  if (list->kind != YamlNode::Kind::kSequence)
    return document.Error(list->mark, "waivers must be a list");
  std::vector<Waiver> all, of_class;
  for (const YamlNode& item : list->items) {
    FG_ASSIGN_OR_RETURN(Waiver waiver, ReadWaiver(document, item, matrix));
    for (const Waiver& other : all) {
      if (other.cell == waiver.cell && other.hardware_class == waiver.hardware_class) {
        return document.Error(item.mark, fmt::format("{} on {} is waived twice", waiver.cell.Text(),
                                                     waiver.hardware_class));
      }
    }
    all.push_back(waiver);
    if (waiver.hardware_class == hardware_class) of_class.push_back(std::move(waiver));
  }
  return of_class;
}

Result<std::vector<Waiver>> LoadWaivers(const std::string& path, const std::string& file_name,
                                        const Matrix& matrix, const std::string& hardware_class) {
  std::error_code error;
  if (!std::filesystem::exists(path, error) && !error) return std::vector<Waiver>{};
  FG_ASSIGN_OR_RETURN(std::string text, fg::ReadFile(path));
  return ParseWaivers(std::move(text), file_name, matrix, hardware_class);
}

}  // namespace flipgate
