#!/usr/bin/env python3
"""Makes the binary tables of the collations. usage: make_tables.py UNICODE_DIRECTORY FACTS_DIRECTORY OUTPUT_DIRECTORY

UNICODE_DIRECTORY holds allkeys-9.0.0.txt and allkeys-5.2.0.txt, the Default Unicode Collation Element Tables
(unicode.org/Public/UCA/; the PyPI package pyuca carries both). FACTS_DIRECTORY is what dump_facts.sh wrote.

What MySQL does with the tables, and we with it: contractions of the DUCET are ignored, a character has at most eight
collation elements, variable elements are not ignorable. The 4.0.0 table has no published file of this form; it is read
from the server. The 5.2.0 table is made of the file and checked against the server, code point by code point.

Every number is little-endian. A UCA table (uca-*.bin) is
    header      8 x u32: primary pages, u16 words of expansions, variant pages, bytes of variants, length of leads, 0, 0, 0
    ascii       128 x u8: key code of each ASCII character, 0 if it is ignorable
    leads       for each primary weight the first byte of its key code, 0 if no character has the weight
    index       4352 x u8: primary page of each block of 256 code points
    pages       pages x 256 x u16: 0 ignorable; up to 0x7FFF the one primary weight; 0xFFFF implicit weights;
                else bit 15 and the word offset of an expansion
    expansions  u16 count, then as many primary weights
and with secondary and tertiary weights (variants) also
    index       4352 x u8, as above
    pages       pages x 256 x u16: the byte offset of a variant; 0xFFFF implicit
    variants    u8 count, then for each collation element u8 secondary (less 0x1F; 0 none) and u8 tertiary

Key codes: the primary weights of ASCII characters are one byte; all others that characters have are two, a first byte
that stands for the upper byte of the weight and the gap between two ASCII weights, and the lower byte of the weight.
"""
import os
import re
import struct
import sys

CODE_POINTS = 0x110000
ELEMENTS_MAX = 8
IMPLICIT = 0xFFFF
FIRST_LEAD = 0x04
LAST_LEAD = 0xF7


def read_allkeys(path):
    """Collation elements (primary, secondary, tertiary) of every single code point listed."""
    table = {}
    for line in open(path, encoding="utf-8"):
        line = line.split("#")[0].strip()
        if not line or line.startswith("@"):
            continue
        code_points, elements = line.split(";")
        code_points = [int(text, 16) for text in code_points.split()]
        if len(code_points) > 1:
            continue
        found = re.findall(r"\[[.*]([0-9A-F.]+)\]", elements)
        parsed = [tuple(int(text, 16) for text in element.split(".")[:3]) for element in found]
        table[code_points[0]] = parsed[:ELEMENTS_MAX]
    return table


def words(text):
    return tuple(int(text[at:at + 4], 16) for at in range(0, len(text), 4))


def read_weights(path):
    """Per code point the weights of general_ci, unicode_ci and unicode_520_ci."""
    general, uca400, uca520 = {}, {}, {}
    for line in open(path):
        code, first, second, third = line.rstrip("\n").split("\t")
        code = int(code)
        general[code], uca400[code], uca520[code] = words(first), words(second), words(third)
    return general, uca400, uca520


def implicit_legacy(code):
    base = 0xFB80 if 0x3400 <= code <= 0x4DB5 else 0xFB40 if 0x4E00 <= code <= 0x9FA5 else 0xFBC0
    return (base + (code >> 15), code & 0x7FFF | 0x8000)


def paged(entry_of):
    """Two-stage table of u16: index bytes and page bytes."""
    pages, index = {}, bytearray()
    for block in range(CODE_POINTS >> 8):
        page = struct.pack("<256H", *(entry_of(block << 8 | low) for low in range(256)))
        index.append(pages.setdefault(page, len(pages)))
    return bytes(index), b"".join(pages), len(pages)


def key_leads(primaries, ascii_weights):
    """First key byte of every primary weight below the implicit ones."""
    singles = set(ascii_weights)
    used = sorted({weight for weight in primaries if 0 < weight < 0xFB00})
    leads = bytearray(used[-1] + 1)
    lead, segment = FIRST_LEAD - 1, None
    for weight in used:
        if weight in singles:
            lead, segment = lead + 1, None
        elif segment != weight >> 8:
            lead, segment = lead + 1, weight >> 8
        leads[weight] = lead
    assert lead <= LAST_LEAD, lead
    return bytes(leads)


def check_sequence(sequence):
    """The second weight of an implicit pair stands behind its first, and nowhere else."""
    at = 0
    while at < len(sequence):
        if 0xFB00 <= sequence[at] < 0xFC00:
            assert at + 1 < len(sequence) and sequence[at + 1] >= 0x8000, sequence
            at += 1
        else:
            assert sequence[at] < 0x8000 or sequence[at] == 0xFFFD, sequence
        at += 1


def write_uca(path, primaries, variants):
    """`primaries`: code point to its non-zero primary weights; missing ones are implicit. `variants`: code point to
    (secondary, tertiary) of each element, or None for a table of primary weights alone."""
    expansions, offsets = [], {}

    def primary_entry(code):
        sequence = primaries.get(code)
        if sequence is None:
            return IMPLICIT
        if len(sequence) == 0:
            return 0
        check_sequence(sequence)
        if len(sequence) == 1 and sequence[0] < 0x8000:
            return sequence[0]
        if sequence not in offsets:
            offsets[sequence] = len(expansions)
            expansions.extend((len(sequence),) + sequence)
        return 0x8000 | offsets[sequence]

    index, pages, page_count = paged(primary_entry)
    assert len(expansions) < 0x7FFF, len(expansions)
    ascii_weights = [primaries[code][0] for code in range(128) if primaries[code]]
    leads = key_leads({weight for sequence in primaries.values() for weight in sequence[:]}
                      - {weight for weight in range(0x8000, 0xFB00)}, ascii_weights)
    ascii_codes = bytes(leads[primaries[code][0]] if primaries[code] else 0 for code in range(128))

    variant_bytes, variant_offsets = bytearray(), {}

    def variant_entry(code):
        sequence = variants.get(code)
        if sequence is None:
            return IMPLICIT
        if sequence not in variant_offsets:
            variant_offsets[sequence] = len(variant_bytes)
            variant_bytes.append(len(sequence))
            for secondary, tertiary in sequence:
                assert secondary == 0 or 0x20 <= secondary <= 0x114
                assert (secondary == 0 or tertiary > 0) and tertiary < 0x20
                variant_bytes.extend((max(secondary - 0x1F, 0), tertiary))
        return variant_offsets[sequence]

    variant_index, variant_pages, variant_page_count = paged(variant_entry) if variants else (b"", b"", 0)
    assert len(variant_bytes) < IMPLICIT
    header = struct.pack("<8I", page_count, len(expansions), variant_page_count, len(variant_bytes), len(leads), 0, 0, 0)
    body = [header, ascii_codes, leads, index, pages, struct.pack(f"<{len(expansions)}H", *expansions),
            variant_index, variant_pages, bytes(variant_bytes)]
    write(path, b"".join(body))


def write_general(path, general):
    """general_ci: u32 count of pages, 256 x u8 page index, pages of 256 x u16 weights (the Basic Multilingual Plane)."""
    assert all(weight == (0xFFFD,) for code, weight in general.items() if code > 0xFFFF)
    pages, index = {}, bytearray()
    for block in range(256):
        codes = range(block << 8, (block + 1) << 8)
        # Surrogates are no characters; they never reach the table.
        page = struct.pack("<256H", *(general.get(code, (0,))[0] - (block << 8) & 0xFFFF for code in codes))
        index.append(pages.setdefault(page, len(pages)))
    write(path, struct.pack("<I", len(pages)) + bytes(index) + b"".join(pages))


def write_single_byte(path, rows):
    """Nine times 256 bytes: the rows of dump_facts.sh in their order; ASCII goes on with itself."""
    body = bytearray()
    for line in open(rows):
        values = [int(text, 16) for text in line.rstrip("\n").split("\t")[1].split()]
        body.extend(values + list(range(len(values), 256)))
    assert len(body) == 9 * 256
    write(path, bytes(body))


def write_case(path, rows, known):
    """Three families (old, 5.2, 9.0), upper then lower for each: u32 count, then pairs u32 from, u32 to, ascending.
    The 9.0 family is Unicode 14 without the characters that Unicode 9 did not have."""
    maps = [[] for _ in range(6)]
    for line in open(rows):
        columns = line.split()
        code = int(columns[0])
        for which in range(6):
            mapped = int(columns[1 + which], 16)
            if mapped != code and (which < 4 or (code in known and mapped in known)):
                maps[which].append((code, mapped))
    body = b""
    for pairs in maps:
        body += struct.pack("<I", len(pairs)) + b"".join(struct.pack("<2I", *pair) for pair in pairs)
    write(path, body)


def write(path, body):
    with open(path, "wb") as file:
        file.write(body)
    print(f"{path}: {len(body)} bytes")


def main():
    unicode_directory, facts, out = sys.argv[1:4]
    ducet900 = read_allkeys(os.path.join(unicode_directory, "allkeys-9.0.0.txt"))
    ducet520 = read_allkeys(os.path.join(unicode_directory, "allkeys-5.2.0.txt"))
    general, uca400, uca520 = read_weights(os.path.join(facts, "weights.tsv"))

    def primary(elements):
        return tuple(element[0] for element in elements if element[0])

    for elements in ducet900.values():
        # The sort keys cut default weights off the end of a level; that is exact because of these two rules.
        assert all(element[1] == 0x20 or element[1:] == (0, 0) for element in elements if element[0])
        assert all(element[1] > 0x20 or element == (0, 0, 0) for element in elements if not element[0])
    primaries900 = {code: primary(elements) for code, elements in ducet900.items()}
    variants900 = {code: tuple(element[1:] for element in elements) for code, elements in ducet900.items()}
    write_uca(os.path.join(out, "uca-9.0.0.bin"), primaries900, variants900)

    primaries520 = {code: primary(elements) for code, elements in ducet520.items()}
    for code, weights in uca520.items():
        assert weights == primaries520.get(code, implicit_legacy(code)), hex(code)
    write_uca(os.path.join(out, "uca-5.2.0.bin"), primaries520, None)

    assert all(weights == (0xFFFD,) for code, weights in uca400.items() if code > 0xFFFF)
    primaries400 = {code: weights for code, weights in uca400.items()
                    if code <= 0xFFFF and weights != implicit_legacy(code)}
    write_uca(os.path.join(out, "uca-4.0.0.bin"), primaries400, None)

    write_general(os.path.join(out, "general_ci.bin"), general)
    write_single_byte(os.path.join(out, "single_byte.bin"), os.path.join(facts, "single_byte.tsv"))
    write_case(os.path.join(out, "case.bin"), os.path.join(facts, "case.tsv"), ducet900)


main()
