#include "engine/readers/trace.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

namespace fg {
namespace {

constexpr std::string_view kClose = "\n]\n";
constexpr int kTrack = 1;  // forwards do not overlap: one track holds them all

Json Complete(const std::string& name, const char* category, double begin, double microseconds,
              Json arguments) {
  return {
      {"name", name},        {"cat", category},   {"ph", "X"},     {"ts", begin},
      {"dur", microseconds}, {"pid", ::getpid()}, {"tid", kTrack}, {"args", std::move(arguments)}};
}

Json NameOf(const char* what, const char* name) {
  return {{"name", what},
          {"ph", "M"},
          {"pid", ::getpid()},
          {"tid", kTrack},
          {"args", {{"name", name}}}};
}

}  // namespace

Result<std::unique_ptr<Reader>> Trace::Create(const std::string& path) {
  FG_ASSIGN_OR_RETURN(auto file, ReaderFile::Create("FG_TRACE", path));
  std::unique_ptr<Trace> trace(new Trace(std::move(file)));
  FG_RETURN_IF_ERROR(trace->Say(NameOf("process_name", "fg-engine")));
  FG_RETURN_IF_ERROR(trace->Say(NameOf("thread_name", "forwards")));
  return std::unique_ptr<Reader>(std::move(trace));
}

Status Trace::Say(const Json& event) {
  std::string line = JsonLine(event);
  line.pop_back();
  const Status status = empty_ ? file_->Append("[\n" + line + std::string(kClose))
                               : file_->ReplaceEnd(kClose, ",\n" + line + std::string(kClose));
  if (status.ok()) empty_ = false;
  return status;
}

double Trace::Microseconds(ReaderClock::time_point time) const {
  return std::chrono::duration<double, std::micro>(time - start_).count();
}

Status Trace::Begin(const SeenForward&) { return Status::Ok(); }

Status Trace::After(SeenNode& node) {
  const Node& of = node.node();
  const double took = node.run().seconds * 1e6;
  const std::string name =
      std::string(GraphOpName(of.op)) + (of.weight.empty() ? "" : " " + of.weight);
  return Say(Complete(name, PhaseName(node.forward().phase),
                      std::max(0.0, Microseconds(node.end()) - took), took,
                      {{"forward", node.forward().index},
                       {"index", node.run().index},
                       {"op", GraphOpName(of.op)},
                       {"label", node.run().label},
                       {"phase", PhaseName(node.forward().phase)},
                       {"rows", of.rows},
                       {"columns", of.columns},
                       {"statistics", StatisticsJson(node)}}));
}

Status Trace::End(const SeenForward& forward, ReaderClock::time_point now) {
  const double begin = Microseconds(forward.begin);
  return Say(Complete("forward " + std::to_string(forward.index), PhaseName(forward.phase), begin,
                      Microseconds(now) - begin,
                      {{"forward", forward.index},
                       {"phase", PhaseName(forward.phase)},
                       {"rows", forward.graph.params.rows},
                       {"wanted", forward.graph.params.wanted},
                       {"graph", forward.graph.identity}}));
}

}  // namespace fg
