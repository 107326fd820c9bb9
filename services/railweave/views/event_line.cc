#include "services/railweave/views/event_line.h"

#include "services/railweave/connection/rest_words.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/printable.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {
namespace {

// Pads columns to fixed widths, since later events are unknown.
std::string event_line(const Json& event, const Terminal& terminal) {
  const auto padded = [](const std::string& text, std::size_t width) {
    const std::size_t used = display_width(text);
    return used < width ? text + std::string(width - used, ' ') : text;
  };
  std::string line =
      padded(printable(text_of(event, "seq")), 7) + "  " + padded(printable(time_of(event, "time")), 20) + "  " +
      padded(printable(text_of(event, "type")), 18) + "  " + printable(in_commands(text_of(event, "summary")));
  if (terminal.columns > 0) line = shortened(line, terminal.columns);
  return toned(line, tone_of_severity(text_of(event, "severity")), terminal) + "\n";
}

}  // namespace

void print_event(Output& output, const Json& event) {
  if (output.is_document()) {
    output.line_document(event);
  } else {
    output.text(event_line(event, output.terminal()));
  }
}

void follow_events(Session& session, const Target& target, const std::string& after) {
  Output& output = session.output;
  output.end_progress();
  const auto follow_after = [&](const std::string& seq) {
    session.service().follow(
        target, seq,
        [&](const Json& event) {
          print_event(output, event);
          output.flush();
          return true;
        },
        [&](const std::string& trouble) { output.note("railweave: " + trouble + "; reconnecting"); });
  };
  try {
    follow_after(after);
  } catch (const CommandFailure& failure) {
    if (failure.error().code != kEventsGone) throw;
    output.note("railweave: events are missing here: " + failure.error().message);
    follow_after("0");
  }
}

}  // namespace railweave::cli
