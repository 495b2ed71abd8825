#!/bin/sh
# Asks a MariaDB server for facts that have no freely published source: the weights and case mappings of the
# collations that it shares with MySQL. usage: dump_facts.sh SOCKET OUTPUT_DIRECTORY
set -eu
socket=$1
out=$2
ask() { mariadb --socket="$socket" --user=root --skip-column-names test --execute="$1"; }
mkdir -p "$out"
mariadb --socket="$socket" --user=root --execute="CREATE DATABASE IF NOT EXISTS test"

# Every code point: the weights of the general_ci, unicode_ci (UCA 4.0.0) and unicode_520_ci families.
ask "SELECT seq, HEX(WEIGHT_STRING(CHAR(seq USING utf32) COLLATE utf32_general_ci)),
            HEX(WEIGHT_STRING(CHAR(seq USING utf32) COLLATE utf32_unicode_ci)),
            HEX(WEIGHT_STRING(CHAR(seq USING utf32) COLLATE utf32_unicode_520_ci))
     FROM seq_0_to_1114111 WHERE seq NOT BETWEEN 55296 AND 57343" > "$out/weights.tsv"

# Every code point: upper and lower case of the old collations, of unicode_520_ci, and of Unicode 14.
ask "SELECT seq, HEX(UPPER(CHAR(seq USING utf32) COLLATE utf32_general_ci)),
            HEX(LOWER(CHAR(seq USING utf32) COLLATE utf32_general_ci)),
            HEX(UPPER(CHAR(seq USING utf32) COLLATE utf32_unicode_520_ci)),
            HEX(LOWER(CHAR(seq USING utf32) COLLATE utf32_unicode_520_ci)),
            HEX(UPPER(CHAR(seq USING utf32) COLLATE uca1400_ai_ci)),
            HEX(LOWER(CHAR(seq USING utf32) COLLATE uca1400_ai_ci))
     FROM seq_0_to_1114111 WHERE seq NOT BETWEEN 55296 AND 57343" > "$out/case.tsv"

# Every byte: the weights of the single-byte collations, and the case mapping of latin1.
: > "$out/single_byte.tsv"
for collation in latin1_swedish_ci latin1_german1_ci latin1_danish_ci latin1_general_ci latin1_general_cs \
    latin1_spanish_ci ascii_general_ci; do
    charset=${collation%%_*}
    last=255
    [ "$charset" = ascii ] && last=127
    ask "SELECT '$collation', GROUP_CONCAT(HEX(WEIGHT_STRING(CHAR(seq USING $charset) COLLATE $collation))
         ORDER BY seq SEPARATOR ' ') FROM seq_0_to_$last" >> "$out/single_byte.tsv"
done
for function in UPPER LOWER; do
    ask "SELECT '$function', GROUP_CONCAT(HEX($function(CHAR(seq USING latin1))) ORDER BY seq SEPARATOR ' ')
         FROM seq_0_to_255" >> "$out/single_byte.tsv"
done
