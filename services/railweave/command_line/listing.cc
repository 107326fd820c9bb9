#include "services/railweave/command_line/listing.h"

#include <algorithm>
#include <utility>

#include "fabric/base/lower_case.h"
#include "fabric/base/natural_order.h"
#include "services/railweave/command_line/number_option.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/field_path.h"

namespace railweave::cli {
namespace {

constexpr const char* kClearScreen = "\033[H\033[2J";

bool same_ignoring_case(std::string_view a, std::string_view b) { return lower_case(a) == lower_case(b); }

const ListColumn* column_titled(const ListView& view, std::string_view title) {
  const auto found = std::ranges::find_if(
      view.columns, [&](const ListColumn& column) { return same_ignoring_case(column.title, title); });
  return found == view.columns.end() ? nullptr : &*found;
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// "gpu=h100", "gpu==h100", "gpu!=h100", "gpu", "!gpu".
bool has_label(const Json& labels, const std::string& wanted) {
  const auto at = wanted.find('=');
  if (at == std::string::npos) {
    const bool absent = wanted.starts_with('!');
    return field(labels, wanted.substr(absent ? 1 : 0)).is_null() == absent;
  }
  const bool differs = at > 0 && wanted[at - 1] == '!';
  const std::string key = wanted.substr(0, differs ? at - 1 : at);
  const std::string value = wanted.substr(
      wanted.find_first_not_of('=', at) == std::string::npos ? wanted.size() : wanted.find_first_not_of('=', at));
  const Json& label = field(labels, key);
  return (!label.is_null() && text_of(label) == value) != differs;
}

struct ListAnswer {
  std::vector<Json> items;
  Json next_cursor;  // null: these are all
  std::uint64_t seq = 0;
};

// What a list command asks for beyond what the service filters by itself.
class ListQuery {
 public:
  ListQuery(const ListView& view, const ListOptions& options)
      : view_(&view),
        options_(&options),
        states_(split_at_commas(options.state)),
        labels_(split_at_commas(options.selector)) {
    if (!options.sort_by.empty() && (sort_column_ = column_titled(view, options.sort_by)) == nullptr) {
      sort_field_ = value_or_fail(FieldPath::parse(options.sort_by));
    }
  }

  [[nodiscard]] std::uint64_t limit() const { return options_->limit; }

  ListAnswer read(Session& session, const Target& target) const {
    ListAnswer answer;
    const bool whole = states_.empty() && labels_.empty() && options_->sort_by.empty();
    const auto end = session.service().each_item(
        target, whole ? options_->limit : 0,
        [&](const Json& item) {
          if (holds(item)) answer.items.push_back(item);
        },
        [&] { answer.items.clear(); });
    answer.seq = end.seq;
    if (whole) answer.next_cursor = end.next_cursor;
    sort(answer.items);
    return answer;
  }

 private:
  [[nodiscard]] bool holds(const Json& item) const {
    if (!states_.empty()) {
      const std::string state = column_titled(*view_, "STATE")->cell(item).text;
      if (std::ranges::none_of(states_, [&](const auto& one) { return same_ignoring_case(one, state); })) return false;
    }
    return std::ranges::all_of(labels_, [&](const auto& one) { return has_label(field(item, "labels"), one); });
  }

  void sort(std::vector<Json>& items) const {
    if (options_->sort_by.empty()) return;
    struct Keyed {
      std::string key;
      std::size_t at;
    };
    std::vector<Keyed> order;
    bool any = items.empty() || sort_column_ != nullptr;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto found = sort_field_.find(items[i]);
      any = any || !found.empty();
      order.push_back(
          {sort_column_ != nullptr ? sort_column_->cell(items[i]).text : sort_field_.text(items[i], ",", ""), i});
    }
    if (!any) {
      std::string titles;
      for (const auto& column : view_->columns) titles += (titles.empty() ? "" : ", ") + column.title;
      fail_usage("there is no column or field '" + options_->sort_by + "' to sort by",
                 "one of " + titles + ", or a field of -o json, such as .id");
    }
    std::ranges::stable_sort(order, [&](const Keyed& a, const Keyed& b) {
      return options_->reverse ? natural_compare(b.key, a.key) < 0 : natural_compare(a.key, b.key) < 0;
    });
    std::vector<Json> sorted;
    sorted.reserve(items.size());
    for (const Keyed& one : order) sorted.push_back(std::move(items[one.at]));
    items = std::move(sorted);
  }

  const ListView* view_;
  const ListOptions* options_;
  std::vector<std::string> states_, labels_;
  const ListColumn* sort_column_ = nullptr;
  FieldPath sort_field_;  // where no column has that title
};

void print(Output& output, const ListView& view, const ListAnswer& answer, const ListQuery& query) {
  const std::size_t shown =
      query.limit() == 0 ? answer.items.size() : std::min<std::size_t>(query.limit(), answer.items.size());
  if (output.is_document()) {
    Json items = Json::array();
    for (std::size_t i = 0; i < shown; ++i) items.push_back(answer.items[i]);
    return output.document(Json{{"items", std::move(items)}, {"nextCursor", answer.next_cursor}, {"seq", answer.seq}});
  }
  if (shown == 0) return output.note(view.none);
  Table table = make_table(view, output.is_wide());
  for (std::size_t i = 0; i < shown; ++i) add_row(table, view, output.is_wide(), answer.items[i]);
  output.text(table.text(output.terminal()));
  if (shown < answer.items.size() || answer.next_cursor.is_string()) {
    output.flush();
    output.note("the first " + std::to_string(shown) + "; there are more (--limit 0 shows all)");
  }
}

}  // namespace

ListColumn text_column(std::string title, std::string name, bool wide) {
  return {std::move(title), [name = std::move(name)](const Json& item) { return Cell(text_of(item, name)); },
          Align::left, wide};
}

ListColumn number_column(std::string title, std::string name, bool wide) {
  ListColumn column = text_column(std::move(title), std::move(name), wide);
  column.align = Align::right;
  return column;
}

ListColumn time_column(std::string title, std::string name, bool wide) {
  return {std::move(title), [name = std::move(name)](const Json& item) { return Cell(time_of(item, name)); },
          Align::left, wide};
}

Table make_table(const ListView& view, bool wide) {
  std::vector<Column> columns;
  for (const auto& column : view.columns) {
    if (wide || !column.wide) columns.push_back({column.title, column.align});
  }
  return Table(std::move(columns));
}

void add_row(Table& table, const ListView& view, bool wide, const Json& item) {
  std::vector<Cell> cells;
  for (const auto& column : view.columns) {
    if (wide || !column.wide) cells.push_back(column.cell(item));
  }
  table.add(std::move(cells));
}

std::string table_text(const ListView& view, const Json& items, const Output& output) {
  Table table = make_table(view, output.is_wide());
  for (const Json& item : items) add_row(table, view, output.is_wide(), item);
  return table.rows() == 0 ? std::string() : table.text(output.terminal());
}

void print_list(Session& session, const Target& target, const ListView& view, const ListOptions& options) {
  const ListQuery query(view, options);
  if (!options.watch) {
    print(session.output, view, query.read(session, target), query);
    return;
  }
  std::string shown;
  for (bool first = true;; first = false) {
    const ListAnswer answer = query.read(session, target);
    const std::string now = compact_json(answer.items);
    if (first || now != shown) {
      const Output& output = session.output;
      if (output.terminal().is_terminal && !output.is_document()) {
        session.output.text(kClearScreen);
      } else if (!first && !output.is_document()) {
        session.output.text("\n");
      }
      print(session.output, view, answer, query);
      session.output.flush();
      shown = now;
    }
    // Whatever changes a list is an event, so the next look is after the next one.
    session.service().follow(
        Target("/v1/events/stream"), std::to_string(answer.seq), [](const Json&) { return false; },
        [&](const std::string& trouble) { session.output.note("railweave: note: " + trouble); });
  }
}

void add_list_options(CLI::App& command, ListOptions& options, const ListView& view) {
  add_number_option(command, "--limit", options.limit, "Show at most N; 0: all");
  command
      .add_option("--sort-by", options.sort_by,
                  "Sort by this column, such as " + view.columns.front().title + ", or by a field, such as .id")
      ->type_name("COLUMN");
  command.add_flag("--reverse", options.reverse, "With --sort-by: the last first")->needs("--sort-by");
  if (column_titled(view, "STATE") != nullptr && command.get_option_no_throw("--state") == nullptr) {
    command.add_option("--state", options.state, "Only those whose STATE is this; several by commas")
        ->type_name("STATE");
  }
  if (view.labelled) {
    command.add_option("-l,--selector", options.selector, "Only those with these labels; KEY!=VALUE and !KEY negate")
        ->type_name("KEY=VALUE,...");
  }
  command.add_flag("--watch", options.watch, "Print the list again whenever it changes, until interrupted");
}

}  // namespace railweave::cli
