// railweave links history, railweave switches history.
#include "services/railweave/commands/counter_history.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include <fmt/core.h>

#include "fabric/base/text/time_text.h"
#include "services/railweave/command_line/choice_option.h"
#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {
namespace {

// One decimal: "12.5 %".
std::string share_text(std::optional<double> share) {
  if (!share) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", *share * 100);
  return text;
}

std::optional<double> number_at(const Json& values, std::size_t slot) {
  return slot < values.size() && values[slot].is_number() ? std::optional(values[slot].get<double>()) : std::nullopt;
}

struct Sums {
  std::optional<double> average, highest;
};
Sums sums_of(const Json& loads, const Json& peaks) {
  Sums sums;
  double sum = 0, count = 0;
  for (std::size_t slot = 0; slot < loads.size(); ++slot) {
    if (const auto load = number_at(loads, slot)) sum += *load, count += 1;
    if (const auto peak = number_at(peaks, slot)) sums.highest = std::max(sums.highest.value_or(0), *peak);
  }
  if (count > 0) sums.average = sum / count;
  return sums;
}

// Errors of one slot, or of all of them: "symbolErrors 12, discards 3".
Cell errors_cell(const Json& port, std::optional<std::size_t> slot) {
  std::string text;
  for (const auto& kind : list(port, "errors")) {
    const Json& counts = list(kind, "counts");
    double sum = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (!slot || *slot == i) sum += number_at(counts, i).value_or(0);
    }
    if (sum > 0) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", text_of(kind, "kind"), static_cast<std::uint64_t>(sum));
    }
  }
  return text.empty() ? Cell("-", Tone::faint) : Cell(text, Tone::warning);
}

// A line per port; with `each`, a line per slot and port.
void print_history(Output& output, const Json& history, bool each) {
  const Json& ports = list(history, "ports");
  if (ports.empty()) return output.note("railweave: note: counters are not read here, or not twice yet");
  const auto from = parse_time_us(text_of(history, "from"));
  const double slot_s = field(history, "slotSeconds").is_number() ? field(history, "slotSeconds").get<double>() : 0;
  const auto slots = static_cast<std::size_t>(count_of(history, "slots"));
  if (!each) {
    Table table({{"PORT"}, {"AVERAGE", Align::right}, {"PEAK", Align::right}, {"WAITING", Align::right}, {"ERRORS"}});
    for (const auto& port : ports) {
      const Sums load = sums_of(list(port, "load"), list(port, "peak"));
      const Sums waiting = sums_of(list(port, "waiting"), list(port, "waiting"));
      table.add({text_of(port, "portName"), share_text(load.average), share_text(load.highest),
                 share_text(waiting.average), errors_cell(port, std::nullopt)});
    }
    Sheet sheet;
    sheet.add("From", time_of(history, "from"));
    sheet.add("Slots", text_of(history, "slots") + " of " + text_of(history, "slotSeconds") + " s");
    return output.text(sheet.text(output.terminal()) + "\n" + table.text(output.terminal()));
  }
  Table table(
      {{"FROM"}, {"PORT"}, {"LOAD", Align::right}, {"PEAK", Align::right}, {"WAITING", Align::right}, {"ERRORS"}});
  for (std::size_t slot = 0; slot < slots && from; ++slot) {
    for (const auto& port : ports) {
      const auto load = number_at(list(port, "load"), slot);
      if (!load) continue;
      table.add({whole_second_text(*from + static_cast<std::int64_t>(static_cast<double>(slot) * slot_s * 1e6)),
                 text_of(port, "portName"), share_text(load), share_text(number_at(list(port, "peak"), slot)),
                 share_text(number_at(list(port, "waiting"), slot)), errors_cell(port, slot)});
    }
  }
  output.text(table.text(output.terminal()));
}

struct HistoryOptions {
  std::string id, detail = "fine";
  bool each = false;
};

}  // namespace

void add_history_command(CLI::App& noun_command, Session& session, const HistoryNoun& noun) {
  const std::string name = noun_command.get_name();
  const std::string line = "railweave " + name + " history " + noun.example;
  const std::string longer = line + " --detail coarse --each";
  CLI::App& command = add_command(noun_command, "history", "Show what ports carried and counted in the past",
                                  {line.c_str(), longer.c_str()});
  auto options = std::make_shared<HistoryOptions>();
  command.add_option(noun.argument, options->id, noun.meaning)->required();
  add_choice_option(command, "--detail", options->detail, "Short slots, or long ones that reach further back",
                    "fine|coarse");
  command.add_flag("--each", options->each, "A line for each slot of time");
  on_run(command, session, [&session, options, path = noun.path] {
    const Json history =
        session.service().get(Target(path).segment(options->id).path("/history").query("detail", options->detail));
    if (session.output.is_document()) return session.output.document(history);
    print_history(session.output, history, options->each);
  });
}

}  // namespace railweave::cli
