#include "services/railweave/command_line/listing.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "fabric/base/lower_case.h"
#include "fabric/base/natural_order.h"
#include "services/railweave/command_line/number_option.h"
#include "services/railweave/terminal/age.h"
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
    return field(labels, foreign(std::string_view(wanted).substr(absent ? 1 : 0))).is_null() == absent;
  }
  const bool differs = at > 0 && wanted[at - 1] == '!';
  const std::string key = wanted.substr(0, differs ? at - 1 : at);
  const std::string value = wanted.substr(
      wanted.find_first_not_of('=', at) == std::string::npos ? wanted.size() : wanted.find_first_not_of('=', at));
  const Json& label = field(labels, foreign(key));
  return (!label.is_null() && text_of(label) == value) != differs;
}

struct ListAnswer {
  std::vector<Json> items;
  std::vector<std::string> states;  // of all that were read, where --state asks for some
  Json next_cursor;                 // null: these are all
  std::uint64_t seq = 0;
};

// What a list command asks for beyond what the service filters by itself.
class ListQuery {
 public:
  ListQuery(const ListView& view, const ListOptions& options, bool is_terminal)
      : view_(&view),
        options_(&options),
        states_(split_at_commas(options.state)),
        labels_(split_at_commas(options.selector)),
        limit_(options.limit.value_or(is_terminal ? kItemsOnTerminal : 0)) {
    if (options.sort_by.empty()) return;
    sort_column_ = column_titled(view, options.sort_by);
    if (sort_column_ == nullptr) sort_field_ = value_or_fail(FieldPath::parse(options.sort_by));
  }

  [[nodiscard]] std::uint64_t limit() const { return limit_; }
  [[nodiscard]] bool is_default_limit() const { return !options_->limit && limit_ != 0; }

  // "no nodes with --state redy; their states are ready and drained".
  [[nodiscard]] std::string none_text(const ListAnswer& answer) const {
    std::string asked = options_->asked;
    const auto add = [&](const char* option, const std::string& value) {
      if (!value.empty()) asked += fmt::format("{}{} {}", asked.empty() ? "" : ", ", option, value);
    };
    add("--state", options_->state);
    add("--selector", options_->selector);
    std::string text = view_->none + (asked.empty() ? "" : " with " + asked);
    const std::string states = fmt::format("{}", fmt::join(answer.states, ", "));
    return states.empty() ? text : text + "; states of those there are: " + states;
  }

  ListAnswer read(Session& session, const Target& target) const {
    ListAnswer answer;
    const bool whole = states_.empty() && labels_.empty() && options_->sort_by.empty() && !view_->order;
    const auto end = session.service().each_item(
        target, whole ? limit_ : 0,
        [&](const Json& item) {
          if (holds(item)) answer.items.push_back(item);
          if (!states_.empty()) note_state(answer.states, item);
        },
        [&] { answer = {}; });
    answer.seq = end.seq;
    if (whole) answer.next_cursor = end.next_cursor;
    if (view_->order) std::ranges::stable_sort(answer.items, std::ranges::less(), view_->order);
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

  void note_state(std::vector<std::string>& states, const Json& item) const {
    const std::string state = column_titled(*view_, "STATE")->cell(item).text;
    if (std::ranges::find(states, state) == states.end()) states.push_back(state);
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
  std::uint64_t limit_;
  const ListColumn* sort_column_ = nullptr;
  FieldPath sort_field_;  // where no column has that title
};

void print_table(Output& output, const ListView& view, const std::vector<const Json*>& items) {
  Table table = make_table(view, output.is_wide());
  for (const Json* item : items) add_row(table, view, output.is_wide(), *item);
  output.text(table.text(output.terminal()));
}

void print_tables(Output& output, const ListView& view, std::span<const Json> items) {
  std::vector<const Json*> here;
  std::vector<const Json*> apart;
  for (const Json& item : items) (view.apart.is && view.apart.is(item) ? apart : here).push_back(&item);
  if (!here.empty()) print_table(output, view, here);
  if (apart.empty()) return;
  output.text((here.empty() ? "" : "\n") + view.apart.title + "\n");
  ListView with_column = view;
  with_column.columns.insert(with_column.columns.end() - 1, view.apart.column);
  print_table(output, with_column, apart);
}

// How many items the whole list has: asked for where a terminal is shown the first of them, so that it says how many more
// there are. None: the service does not tell ids alone.
std::optional<std::uint64_t> count_all(Session& session, const Target& target) {
  constexpr const char* kLargestPage = "10000";
  std::uint64_t count = 0;
  std::string cursor;
  try {
    for (;;) {
      Target ids = target;
      ids.query("fields", "id").query("limit", kLargestPage).filter("cursor", cursor);
      const Json page = session.service().get(ids);
      count += list(page, "items").size();
      const Json& next = field(page, "nextCursor");
      if (!next.is_string() || next == cursor) return count;
      cursor = next.get<std::string>();
    }
  } catch (const CommandFailure&) {
    return std::nullopt;
  }
}

using CountAll = std::function<std::optional<std::uint64_t>()>;
void print(Output& output, const ListView& view, const ListAnswer& answer, const ListQuery& query,
           const CountAll& count_all_of_it) {
  const std::size_t shown =
      query.limit() == 0 ? answer.items.size() : std::min<std::size_t>(query.limit(), answer.items.size());
  if (output.is_document()) {
    Json items = Json::array();
    for (std::size_t i = 0; i < shown; ++i) items.push_back(answer.items[i]);
    return output.document(Json{{"items", std::move(items)}, {"nextCursor", answer.next_cursor}, {"seq", answer.seq}});
  }
  if (shown == 0) return output.note(query.none_text(answer));
  print_tables(output, view, std::span(answer.items).first(shown));
  if (shown < answer.items.size() || answer.next_cursor.is_string()) {
    output.flush();
    const auto all = query.is_default_limit() ? count_all_of_it() : std::nullopt;
    output.note(fmt::format("the first {}{}--limit 0 shows all)", shown,
                            all ? fmt::format(" of {} (", *all) : "; there are more ("));
  }
}

}  // namespace

ListColumn text_column(std::string title, FieldName name, bool wide) {
  return {std::move(title), [name](const Json& item) { return Cell(text_of(item, name)); }, Align::left, wide};
}

ListColumn number_column(std::string title, FieldName name, bool wide) {
  ListColumn column = text_column(std::move(title), name, wide);
  column.align = Align::right;
  return column;
}

ListColumn time_column(std::string title, FieldName name, bool wide) {
  return {std::move(title), [name](const Json& item) { return Cell(time_of(item, name)); }, Align::left, wide};
}

ListColumn spare_time_column(std::string title, FieldName name) {
  ListColumn column = time_column(std::move(title), name);
  column.spare = true;
  return column;
}

ListColumn age_column(FieldName name) {
  return {"AGE", [name](const Json& item) { return Cell(age_of(item, name)); }};
}

ListColumn sentence_column(std::string title, FieldName name) {
  ListColumn column = text_column(std::move(title), name);
  column.beneath = true;
  return column;
}

Table make_table(const ListView& view, bool wide) {
  std::vector<Column> columns;
  for (const auto& column : view.columns) {
    if (wide || !column.wide) columns.push_back({column.title, column.align, false, column.spare, column.beneath});
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
  const ListQuery query(view, options, session.output.terminal().is_terminal && !session.output.is_document());
  if (!options.watch) {
    print(session.output, view, query.read(session, target), query, [&] { return count_all(session, target); });
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
      print(session.output, view, answer, query, [] { return std::nullopt; });
      session.output.flush();
      shown = now;
    }
    // Whatever changes a list is an event, so the next look is after the next one.
    try {
      session.service().follow(
          Target("/v1/events/stream"), std::to_string(answer.seq), [](const Json&) { return false; },
          [&](const std::string& trouble) { session.output.note("railweave: note: " + trouble); });
    } catch (const CommandFailure& failure) {
      if (failure.error().code != kEventsGone) throw;  // else there is news, and it is read now
    }
  }
}

void add_list_options(CLI::App& command, ListOptions& options, const ListView& view) {
  add_number_option(command, "--limit", options.limit,
                    "Show at most N; 0: all. By default all, but 1000 on a terminal");
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
