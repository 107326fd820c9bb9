#!/usr/bin/env python3
"""Lists functions of more than 80 lines and classes of more than 25 data members: places where two nouns may share a room.
Reads what clang-format writes: definitions outside of classes start in column 0 and end with a brace in column 0.

shapes.py ROOT           lists them; exit code 1 if one stands there that KNOWN does not name with its reason
shapes.py --largest ROOT the largest file, class and function
shapes.py --self-test    measures pieces of code whose sizes are known
"""
import re
import sys
from pathlib import Path

MAX_FUNCTION_LINES = 80
MAX_MEMBERS = 25
SOURCES = ("fabric", "scheduler", "db", "api", "services", "tests")

# "path: name" -> why it stays as it is.
KNOWN = {
    "services/control/state/cluster_state.h: ClusterState": "the tables of the one state; apply() alone changes them, each behind a pointer",
    "fabric/drivers/infiniband/mad/port_info.h: PortInfo": "the fields of one attribute, a line each, and the attribute itself",
    "services/control/live/status/subnet_status.h: SubnetStatus": "what one controller publishes whole, each read where it is shown",
    "scheduler/job/job_spec.h: JobSpec": "what a job may ask for, a line of the contract each; no invariants between them",
    "scheduler/queue/cycle/cycle_run.h: CycleRun": "the state of one cycle, undone at its end; a few members for each of its steps",
    "api/http/dispatch/server_options.h: ServerOptions": "settings of one server, each read where it is used; no invariants between them",
    "services/railweaved/config.h: SubnetConfig": "keys of one table of the file, a line each; no invariants between them",
    "tests/bench/queue/slurm_stream.cc: run_stream": "one experiment from set-up to its counters",
    "tests/unit/control/guarantees/guarantee_book_test.cc: TEST_P": "a random walk: one case of a switch for each kind of step",
    "tests/unit/queue/repair_test.cc: TEST": "one story of a job with spares, told step by step",
}

NOT_A_FUNCTION = re.compile(r"^(namespace|struct|class|enum|union|extern)\b|^(constexpr|const|static|inline|auto)\b[^(]*=|^[#/}{]")
FUNCTION_NAME = re.compile(r"([\w~:]+(?:<[^<>]*>)?|operator\S+)\s*\(")
CLASS = re.compile(r"^(?:template <.*> )?(?:class|struct) (?:\[\[\w+\]\] )?([\w:]+)(?: final)?(?: :[^:].*)? \{$")
NOT_DATA = re.compile(r"^(using|static|friend|enum|typedef|template|public|private|protected|class|struct|union|virtual|explicit|return)\b|\boperator\b")


def functions(lines):
    """(name, first line, number of lines) of every definition outside of classes."""
    start, head, in_raw = None, "", False
    for number, line in enumerate(lines, 1):
        if in_raw:
            in_raw = ')"' not in line and ')RAILWEAVE"' not in line
            continue
        if start is None:
            if line and not line[0].isspace():
                head = "" if NOT_A_FUNCTION.match(line) or line.endswith(";") else line
            elif head:
                head += " " + line.strip()
            if head and line.rstrip().endswith("{") and "(" in head:
                start = number
        elif line.startswith("}"):
            name = FUNCTION_NAME.search(head)
            yield (name[1] if name else head[:60]), start, number - start + 1
            start, head = None, ""
        if 'R"(' in line and ')"' not in line.partition('R"(')[2]:
            in_raw = True


def classes(lines):
    """(name, first line, number of data members) of every class outside of others."""
    body, name, start = [], None, 0
    for number, line in enumerate(lines, 1):
        if name is None:
            if match := CLASS.match(line):
                name, start, body = match[1], number, []
        elif line.startswith("}"):
            yield name, start, data_members("\n".join(body))
            name = None
        else:
            body.append(line)


def data_members(body):
    text = re.sub(r"//[^\n]*|\[\[.*?\]\]", "", body)
    text = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', text)
    flat, depth = "", 0
    for character in text:
        if character == "{":
            depth += 1
            flat += "{" if depth == 1 else ""
        elif character == "}":
            depth -= 1
            flat += "}" if depth == 0 else ""
        elif depth == 0:
            flat += character
    # A body of an inline function ends a statement as a semicolon does; so does an access label.
    flat = re.sub(r"\)([^;{}=]*)\{\}", r")\1;", flat)
    flat = re.sub(r"\b(public|private|protected):", ";", flat)
    count = 0
    for statement in flat.split(";"):
        statement = re.sub(r"\s+", " ", statement).strip()
        statement = re.sub(r"^(mutable|constinit) ", "", statement)
        if not statement or NOT_DATA.search(statement):
            continue
        bare, angle = "", 0
        for character in statement:
            angle += character == "<"
            if angle == 0:
                bare += character
            angle -= character == ">" and angle > 0
        declared = re.sub(r"\{\}|=[^,]*", "", bare)
        if "(" in declared or " " not in declared.strip():
            continue
        count += declared.count(",") + 1
    return count


def sizes(root):
    for top in SOURCES:
        for file in sorted((root / top).rglob("*")):
            if file.suffix in (".h", ".cc") and file.is_file():
                yield file.relative_to(root).as_posix(), file.read_text(encoding="utf-8").splitlines()


def check(root):
    found, problems = set(), []
    for path, lines in sizes(root):
        too_large = [(name, start, f"{count} lines, more than {MAX_FUNCTION_LINES}") for name, start, count in functions(lines)
                     if count > MAX_FUNCTION_LINES]
        too_large += [(name, start, f"{count} data members, more than {MAX_MEMBERS}") for name, start, count in classes(lines)
                      if count > MAX_MEMBERS]
        for name, start, what in too_large:
            key = f"{path}: {name}"
            found.add(key)
            print(f"{path}:{start}: {name} has {what}" + (f" ({KNOWN[key]})" if key in KNOWN else ""))
            problems += [] if key in KNOWN else [key]
    gone = [key for key in KNOWN if key not in found]
    print("\n".join(f"KNOWN names {key}, which is not too large any more: take it out" for key in gone))
    print(f"{len(found)} listed, {len(problems)} of them without a reason")
    return not problems and not gone


def largest(root):
    all_sizes = [(path, lines) for path, lines in sizes(root) if not path.startswith("tests/")]
    print("file     %d lines  %s" % max((len(lines), path) for path, lines in all_sizes))
    print("class    %d data members  %s" % max((count, f"{name} in {path}") for path, lines in all_sizes for name, _, count in classes(lines)))
    print("function %d lines  %s" % max((count, f"{name} in {path}") for path, lines in all_sizes for name, _, count in functions(lines)))
    print("lines    %d of C++, %d of tests" % (sum(len(lines) for path, lines in all_sizes),
                                               sum(len(lines) for path, lines in sizes(root) if path.startswith("tests/"))))


SAMPLE = """class Wide final : public Base {
 public:
  explicit Wide(int a, int b) : a_(a) {}
  [[nodiscard]] int size() const { return a_; }
  void go(std::map<int, int> by_id);
  using Ids = std::vector<int>;
  static constexpr int kMax = 3;
 private:
  struct Part {
    int x, y;
  };
  std::function<void(int, int)> report_;  // a, comment; with signs
  int a_ = 0, b_{1}, c_;
  std::map<int, std::string> names_;
  mutable std::mutex mutex_;
  const char* text_ = "a;b,c";
};
"""


def self_test():
    long = ["int Noun::verb(int a,", "               int b) {"] + ["  ++a;"] * 90 + ["}"]
    measured = (list(classes(SAMPLE.splitlines())), list(functions(long)))
    expected = ([("Wide", 1, 7)], [("Noun::verb", 2, 92)])
    print("measured", measured, "expected", expected)
    return measured == expected


def main():
    if sys.argv[1:] == ["--self-test"]:
        return 0 if self_test() else 1
    if sys.argv[1] == "--largest":
        return largest(Path(sys.argv[2]))
    return 0 if check(Path(sys.argv[1])) else 1


if __name__ == "__main__":
    sys.exit(main())
