#include "services/railweave/terminal/table.h"

#include <gtest/gtest.h>

#include "services/railweave/terminal/printable.h"

namespace railweave::cli {
namespace {

constexpr Terminal kPipe{};

Terminal terminal(std::size_t columns, bool color = false) { return {true, color, columns}; }

Table sample() {
  Table table({{"NODE"}, {"GPUS", Align::right}, {"RACK"}});
  table.add({"dgx-1", "8", "rack-1"});
  table.add({"dgx-117", "16", "-"});
  return table;
}

TEST(Table, AlignsTextLeftAndNumbersRightWithoutTrailingBlanks) {
  EXPECT_EQ(sample().text(kPipe),
            "NODE     GPUS  RACK\n"
            "dgx-1       8  rack-1\n"
            "dgx-117    16  -\n");
}

TEST(Table, KeepsEmptyCellsInTheirColumns) {
  Table table({{"A"}, {"B"}, {"C"}});
  table.add({"1", "", "3"});
  table.add({"", "", ""});
  EXPECT_EQ(table.text(kPipe), "A  B  C\n1     3\n\n");
}

TEST(Table, AlignsByColumnsOfTheTerminalNotBytes) {
  Table table({{"NAME"}, {"X"}});
  table.add({"节点", "1"});
  table.add({"Käfer", "2"});
  EXPECT_EQ(table.text(kPipe), "NAME   X\n节点   1\nKäfer  2\n");
}

TEST(Table, NeverWritesAControlCharacterThatACellBrings) {
  Table table({{"NAME"}});
  table.add({"\x1b]0;title\x07\nnext"});
  EXPECT_EQ(table.text(kPipe), "NAME\n\\x1b]0;title\\x07\\nnext\n");
}

TEST(Table, IsNotCutWhereThereIsNoTerminal) {
  Table table({{"TEXT"}});
  table.add({std::string(500, 'x')});
  EXPECT_EQ(table.text(kPipe), "TEXT\n" + std::string(500, 'x') + "\n");
}

TEST(Table, DoesWithoutWhatIsSpareAndHasSentencesBeneath) {
  Table table({{"NODE"}, {"SINCE", Align::left, false, true}, {"AGE"}, {"TEXT", Align::left, false, false, true}});
  table.add({"dgx-1", "2026-11-21T09:00:00Z", "3h", "a fan is slow"});
  EXPECT_EQ(table.text(terminal(60)),
            "NODE   SINCE                 AGE  TEXT\n"
            "dgx-1  2026-11-21T09:00:00Z  3h   a fan is slow\n");
  EXPECT_EQ(table.text(terminal(40)),
            "NODE   AGE  TEXT\n"
            "dgx-1  3h   a fan is slow\n");
  EXPECT_EQ(table.text(terminal(14)),
            "NODE   AGE\n"
            "dgx-1  3h\n"
            "    a fan is\n"
            "    slow\n");
}

TEST(Table, BreaksAWordThatIsLongerThanALine) {
  EXPECT_EQ(wrapped_lines("ä"
                          "bcdefgh ij",
                          2, 6),
            "  äbcd\n  efgh\n  ij\n");
  EXPECT_EQ(wrapped_lines("", 2, 6), "");
}

TEST(Table, ShortensTheWidestTextToFitATerminal) {
  Table table({{"NODE"}, {"MESSAGE"}, {"N", Align::right}});
  table.add({"dgx-1", "a message that is far too long for this", "123456"});
  EXPECT_EQ(table.text(terminal(30)),
            "NODE   MESSAGE               N\n"
            "dgx-1  a message that…  123456\n");
}

TEST(Table, NeverExceedsTheTerminalHoweverNarrow) {
  for (std::size_t columns = 1; columns < 60; ++columns) {
    Table table({{"ONE"}, {"TWO", Align::right}, {"THREE"}, {"FOUR"}});
    table.add({"some text", "1234567890123", "节点节点节点节点", "more text than fits"});
    const std::string text = table.text(terminal(columns));
    std::size_t start = 0;
    while (start < text.size()) {
      const std::size_t end = text.find('\n', start);
      ASSERT_LE(display_width(text.substr(start, end - start)), columns) << text;
      start = end + 1;
    }
  }
}

TEST(Table, NeverShortensOrLeavesOutWhatTheNextCommandNeeds) {
  const std::string link = "0c42a10300280050/1--0c42a10300fe1200/4";
  for (std::size_t columns = 20; columns < 130; ++columns) {
    Table table({{"FROM"}, {"GPUS", Align::right}, {"KIND"}, {"REASON"}, {"LINK"}});
    table.add({"leaf-with-a-long-name", "128", "infiniband", "a reason that is told at length and more", link});
    const std::string text = table.text(terminal(columns));
    ASSERT_NE(text.find(link), std::string::npos) << columns << "\n" << text;
    if (columns < link.size()) continue;
    for (std::size_t start = 0; start < text.size();) {
      const std::size_t end = text.find('\n', start);
      ASSERT_LE(display_width(text.substr(start, end - start)), columns) << text;
      start = end + 1;
    }
  }
}

TEST(Table, HasNoHeadingsWhereNoneAreWanted) {
  Terminal plain;
  plain.headings = false;
  EXPECT_EQ(sample().text(plain), "dgx-1       8  rack-1\ndgx-117    16  -\n");
}

TEST(Table, ColorsOnlyWhereTheTerminalTakesThem) {
  Table table({{"STATE"}});
  table.add({{"up", Tone::good}});
  EXPECT_EQ(table.text(terminal(80)), "STATE\nup\n");
  EXPECT_EQ(table.text(terminal(80, true)), "\033[2mSTATE\033[0m\n\033[32mup\033[0m\n");
}

TEST(Sheet, AlignsValues) {
  Sheet sheet;
  sheet.add("Name", "llama");
  sheet.add("Tenant", "research\x1b");
  sheet.add("Empty", "");
  EXPECT_EQ(sheet.text(kPipe), "Name:    llama\nTenant:  research\\x1b\nEmpty:\n");
}

}  // namespace
}  // namespace railweave::cli
