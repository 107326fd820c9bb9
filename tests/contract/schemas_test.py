#!/usr/bin/env python3
"""An object or a list of fields that is not what the contract's schema says does not compile, and the compiler names schema and
property; nor does what fits once the contract has a property or a text more.

schemas_test.py ROOT COMPILER
"""
import copy
import re
import subprocess
import sys
import tempfile
from pathlib import Path

API = Path(__file__).resolve().parents[2] / "api"
sys.path[:0] = [str(API), str(API / "contract")]
from from_contract import contract  # noqa: E402
from schemas import schema_rows  # noqa: E402

SOURCE = """#include "services/json/contract_object.h"
namespace railweave::api {
enum class Basis : unsigned char { per_port, per_job };
BOOST_DESCRIBE_ENUM(Basis, per_port, per_job)
enum class OtherBasis : unsigned char { per_port, per_week };
BOOST_DESCRIBE_ENUM(OtherBasis, per_port, per_week)
enum class Undescribed : unsigned char { one };
struct Slot { std::uint64_t level = 0, size = 0; Basis basis = {}; OtherBasis other = {}; };
// CASE
}
"""
LINK = 'with<"from">(1), with<"to">("b"), with<"port">(nullptr)'
WALK = 'with<"at">(1), with<"seenSince">(1), with<"pairs">(1)'
GOOD = [f'Out value() {{ return object<"DirectedLink">({LINK}, with<"link">(1)); }}',
        'constexpr auto kSlices = fields<"Slices">(field<"level">(&Slot::level), required_field<"size">(&Slot::size));',
        'constexpr auto kHalf = std::tuple{field<"pairs">(&Slot::level), field<"lostPairs">(&Slot::size)};\n'
        'Out value(const Slot& slot) { return object<"Walk">(with<"at">(1), with<"seenSince">(1), fields_of(slot, kHalf)); }',
        f'Out value() {{ return object<"Walk">(several({WALK}), with<"lostPairs">(1)); }}',
        'Out value() { return object<"Toleration">(with<"key">(1), without<"value">()); }',
        'Out value() { return object<"Toleration">(with<"key">(1), maybe<"value">(false, 1)); }',
        'constexpr auto kBody = request_fields<"Toleration">(required_field<"key">(&Slot::level), field<"value">(&Slot::size));',
        'static_assert(contract_detail::kTextsFit<"Contract", With<"basis", Basis>>);']
# What is wrong, and what the compiler says: names in braces, and a message.
BAD = [(f'Out value() {{ return object<"DirectedLink">({LINK}); }}', ["DirectedLink", "link"], "is not given"),
       (f'Out value() {{ return object<"DirectedLink">({LINK}, with<"link">(1), with<"length">(1)); }}', ["DirectedLink", "length"],
        "has no such property"),
       (f'Out value() {{ return object<"DirectedLink">({LINK}, with<"link">(1), with<"to">(1)); }}', ["DirectedLink", "to"], "given twice"),
       (f'Out value() {{ return object<"DirectedLink">({LINK}, maybe<"link">(true, 1)); }}', ["DirectedLink", "link"], "not always given"),
       (f'Out value() {{ return object<"Walk">({WALK}, without<"lostPairs">()); }}', ["Walk", "lostPairs"], "not always given"),
       ('Out value() { return object<"Toleration">(with<"key">(1)); }', ["Toleration", "value"], "is not given"),
       (f'Out value() {{ return object<"Walk">(several({WALK}, with<"gone">(1)), with<"lostPairs">(1)); }}', ["Walk", "gone"], "has no such property"),
       ('Out value() { return object<"Walk">(part<"DirectedLink">(1)); }', ["Walk", "from"], "has no such property"),
       ('Out value() { return object<"NoSuchThing">(with<"key">(1)); }', ["NoSuchThing"], "has no object of that name"),
       ('constexpr auto kSlices = fields<"Slices">(field<"level">(&Slot::level));', ["Slices", "size"], "is not given"),
       ('constexpr auto kSlices = fields<"Slices">(field<"level">(&Slot::level), optional_field<"size">(&Slot::size));', ["Slices", "size"],
        "not always given"),
       ('constexpr auto kBody = request_fields<"Toleration">(field<"key">(&Slot::level), field<"value">(&Slot::size));', ["Toleration", "key"],
        "requires of a request is not"),
       ('constexpr auto kBody = request_fields<"Toleration">(required_field<"key">(&Slot::level), required_field<"value">(&Slot::size));',
        ["Toleration", "value"], "requires of a request is not"),
       ('auto value() { return with<"basis">(Undescribed::one); }', ["basis"], "deleted function"),
       ('static_assert(contract_detail::kTextsFit<"Contract", With<"basis", OtherBasis>>);', ["Contract", "basis", "perWeek"], "not have the same texts"),
       ('static_assert(contract_detail::kTextsFit<"ContractSpec", decltype(field<"basis">(&Slot::other, EnumText()))>);',
        ["ContractSpec", "basis", "perWeek"], "not have the same texts"),
       ('static_assert(contract_detail::kTextsFit<"Contract", With<"pkey", Basis>>);', [], "not one of several texts")]


def says(text, name):
    """Whether a compiler's message has the name: clang may write it as numbers."""
    return f'{{"{name}"}}' in text or "{{" + ", ".join(str(ord(letter)) for letter in name) in text


class Compiler:
    def __init__(self, root, compiler):
        self.root, self.compiler = root, compiler

    def fits(self, cases, before=()):
        """Whether they compile, and the errors. `before`: a folder whose headers come before the project's."""
        text = "\n".join(f"namespace case{number} {{\n{case}\n}}" for number, case in enumerate(cases))
        done = subprocess.run([self.compiler, "-std=c++23", "-fsyntax-only", *(f"-I{folder}" for folder in before), f"-I{self.root}", "-x", "c++", "-"],
                              input=SOURCE.replace("// CASE", text), capture_output=True, text=True, check=False)
        return done.returncode == 0, done.stderr

    def fits_contract(self, document, cases):
        rows = schema_rows(document)
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder) / "api" / "contract"
            made.mkdir(parents=True)
            for name, text in zip(("schemas.inc", "schema_texts.inc"), rows):
                (made / name).write_text(text)
            return self.fits(cases, [folder])


def main(compile_of):
    fits, errors = compile_of.fits(GOOD)
    assert fits, errors
    fits, errors = compile_of.fits([case for case, _, _ in BAD])
    assert not fits
    # g++ says what led to an error before it, clang after it.
    parts = re.split(r"(?<= error: )(.*)\n", errors)
    faults = [(said, before + said + after) for before, said, after in zip(parts[::2], parts[1::2], parts[2::2])]
    for case, names, message in BAD:
        assert any(message in said and all(says(around, name) for name in names) for said, around in faults), (case, errors)

    document = contract()
    fits, errors = compile_of.fits_contract(document, GOOD)
    assert fits, errors
    for schema, field, added, message in (("DirectedLink", "lengthM", {"type": "number"}, "is not given"),
                                          ("Contract", "basis", {"enum": ["perPort", "perJob", "perGpu"]}, "not have the same texts")):
        more = copy.deepcopy(document)
        more["components"]["schemas"][schema]["properties"][field] = added
        fits, errors = compile_of.fits_contract(more, GOOD)
        assert not fits and says(errors, added.get("enum", [field])[-1]) and message in errors, errors


main(Compiler(*sys.argv[1:]))
