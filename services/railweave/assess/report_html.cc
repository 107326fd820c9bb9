#include <array>
#include <string_view>

#include <fmt/core.h>

#include "fabric/base/plural.h"
#include "services/railweave/assess/report.h"
#include "services/railweave/terminal/printable.h"

namespace railweave::cli {
namespace {

constexpr std::size_t kObjectsShown = 12;

constexpr std::string_view kStyle = R"css(
:root{color-scheme:light dark;--paper:#fff;--ink:#1d2126;--soft:#5b6570;--line:#d9dee3;--card:#f5f7f9;--own:#0072b2;
--held:#d55e00;--bad:#b3261e;--warn:#8a5a00;--idle:#c9d0d6}
@media(prefers-color-scheme:dark){:root{--paper:#14171a;--ink:#e4e8ec;--soft:#a3adb7;--line:#333a41;--card:#1d2226;
--own:#56b4e9;--held:#f08c4a;--bad:#ff8a80;--warn:#f2c14e;--idle:#3c454d}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:1080px;margin:0 auto;padding:20px 16px 60px}
h1{font-size:1.6rem;margin:0 0 4px}h2{font-size:1.2rem;margin:34px 0 8px;padding-top:10px;border-top:1px solid var(--line)}
p{margin:6px 0}.soft{color:var(--soft)}
.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:8px;margin:10px 0}
.facts div{background:var(--card);border:1px solid var(--line);border-radius:6px;padding:8px 10px}
.facts b{display:block;font-size:1.15rem;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.facts span{color:var(--soft);font-size:.85rem}
.pictures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,320px),1fr));gap:18px;margin:12px 0}
.chart{width:100%;max-width:480px;height:auto;display:block}
.chart text{fill:var(--ink);font-size:11px}.chart .small{font-size:8.5px}.chart .note{fill:var(--soft)}.chart .end{text-anchor:end}
.chart .own{fill:var(--own)}.chart .held{fill:var(--held)}.chart .axis,.chart .track{fill:var(--line)}.chart .idle{fill:var(--idle)}
.chart .faulty{stroke:var(--bad);stroke-width:2}
.job0{fill:#0072b2}.job1{fill:#e69f00}.job2{fill:#009e73}.job3{fill:#cc79a7}.job4{fill:#56b4e9}.job5{fill:#b8a500}.job6{fill:#7a5195}.job7{fill:#8c564b}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;margin:8px 0}
th,td{text-align:left;padding:4px 12px 4px 0;border-bottom:1px solid var(--line);vertical-align:top}th{color:var(--soft);font-weight:600}
.advice{border:1px solid var(--line);border-left:4px solid var(--warn);border-radius:6px;padding:10px 14px;margin:12px 0;background:var(--card);overflow-wrap:anywhere}
.advice.error{border-left-color:var(--bad)}.advice.info{border-left-color:var(--own)}
.advice h3{margin:0 0 6px;font-size:1rem}.advice dl{display:grid;grid-template-columns:7.5em 1fr;gap:2px 10px;margin:0}
.advice dt{color:var(--soft)}.advice dd{margin:0}.advice .error{color:var(--bad)}.advice .warning{color:var(--warn)}
.short{list-style:none;padding:0;margin:8px 0}.short li{border-left:4px solid var(--warn);padding:2px 0 2px 10px;margin:8px 0;color:var(--soft);overflow-wrap:anywhere}
.short b{color:var(--ink);font-weight:600}.short .error{border-color:var(--bad)}.short .info{border-color:var(--own)}
code{font:13px/1.4 ui-monospace,monospace;background:var(--paper);border:1px solid var(--line);border-radius:4px;padding:1px 5px;overflow-wrap:anywhere}
@media(max-width:560px){.advice dl{grid-template-columns:1fr}.advice dt{margin-top:5px}h1{font-size:1.3rem}}
)css";

std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

void add_row(std::string& html, std::string_view name, const std::string& value) {
  if (!value.empty()) html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, html_text(value));
}

std::string advice_html(const Advice& advice) {
  std::string html = "<article class='advice " + html_text(advice.severity) + "'><h3><span class='" +
                     html_text(advice.severity) + "'>" + html_text(advice.severity) + "</span> " +
                     html_text(advice.title) + "</h3><dl>\n";
  add_row(html, "How sure", advice.sure);
  add_row(html, "What it costs", advice.cost);
  add_row(html, "What to do", advice.action);
  if (!advice.command.empty()) html += "<dt>See it</dt><dd><code>" + html_text(advice.command) + "</code></dd>\n";
  std::string objects;
  for (std::size_t i = 0; i < std::min(advice.objects.size(), kObjectsShown); ++i) {
    objects += (i == 0 ? "" : ", ") + advice.objects[i];
  }
  if (advice.objects.size() > kObjectsShown) {
    objects += fmt::format(" and {} more", advice.objects.size() - kObjectsShown);
  }
  add_row(html, "Which", objects);
  return html + "</dl></article>\n";
}

std::string table_html(const ReportTable& table) {
  std::string html = "<div class='wide'><table><thead><tr>";
  for (const std::string& title : table.titles) html += "<th>" + html_text(title) + "</th>";
  html += "</tr></thead><tbody>\n";
  for (const auto& row : table.rows) {
    html += "<tr>";
    for (const std::string& cell : row) html += "<td>" + html_text(cell) + "</td>";
    html += "</tr>\n";
  }
  html += "</tbody></table></div>\n";
  if (table.left_off > 0) html += fmt::format("<p class='soft'>{} more rows.</p>\n", table.left_off);
  return html;
}

std::string section_html(const ReportSection& section) {
  std::string html = "<section id='" + html_text(section.id) + "'><h2>" + html_text(section.title) + "</h2>\n";
  if (!section.text.empty()) html += "<p>" + html_text(section.text) + "</p>\n";
  if (!section.facts.empty()) html += "<div class='facts'>";
  for (const auto& [name, value] : section.facts) {
    html += "<div><b>" + html_text(value) + "</b><span>" + html_text(name) + "</span></div>";
  }
  if (!section.facts.empty()) html += "</div>\n";
  if (!section.pictures.empty()) html += "<div class='pictures'>";
  for (const std::string& picture : section.pictures) html += "<div>" + picture + "</div>";
  if (!section.pictures.empty()) html += "</div>\n";
  for (const ReportTable& table : section.tables) html += table_html(table);
  for (const Advice& advice : section.advice) html += advice_html(advice);
  return html + "</section>\n";
}

std::string counts_text(const Report& report) {
  std::array<std::size_t, 3> counts{};
  for (const Advice* advice : all_advice(report)) {
    ++counts[advice->severity == "error" ? 0 : advice->severity == "warning" ? 1 : 2];
  }
  return plural(counts[0], "error", "errors") + ", " + plural(counts[1], "warning", "warnings") + ", " +
         plural(counts[2], "note", "notes") + ". Nothing was asked of the site, and nothing was changed.";
}

// What was found, in one line each, the gravest first.
std::string summary_html(const Report& report) {
  const auto all = all_advice(report);
  if (all.empty()) return {};
  std::string html = "<section id='findings'><h2>In short</h2>\n<ul class='short'>\n";
  for (const Advice* advice : all) {
    html += "<li class='" + html_text(advice->severity) + "'><b>" + html_text(advice->title) + "</b>" +
            (advice->cost.empty() ? "" : "<br>" + html_text(advice->cost)) + "</li>\n";
  }
  return html + "</ul></section>\n";
}

}  // namespace

std::string to_html(const Report& report) {
  std::string html = fmt::format(
      "<!doctype html>\n"
      "<html lang='en'><head><meta charset='utf-8'>\n"
      "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
      "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
      "<title>{}</title>\n"
      "<style>{}</style></head><body><main>\n"
      "<h1>{}</h1>\n"
      "<p class='soft'>{}</p>\n",
      html_text(report.title), kStyle, html_text(report.title), html_text(counts_text(report)));
  html += summary_html(report);
  for (const ReportSection& section : report.sections) html += section_html(section);
  html += "<section id='sources'><h2>What was read</h2>\n" + table_html(report.sources) + "</section>\n";
  return html + "</main></body></html>\n";
}

}  // namespace railweave::cli
