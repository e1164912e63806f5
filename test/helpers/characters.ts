import { integer, oneof } from 'fast-check'

const FIRST_SURROGATE = 0xd800
const SURROGATES = 0x800
const LAST_CODE_POINT = 0x10ffff

/**
 * Any character of Unicode, as the unit of random texts: half of them printable ASCII, and none is half of a pair. The
 * units `grapheme` and `binary` of fast-check take two seconds of processor time in each process that uses one.
 */
export const character = oneof(
  integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCodePoint(code)),
  integer({ min: 0, max: LAST_CODE_POINT - SURROGATES }).map((at) =>
    String.fromCodePoint(at < FIRST_SURROGATE ? at : at + SURROGATES),
  ),
)
