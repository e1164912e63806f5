/** A character of a pattern, a class of them, or what opens a group. */
export const TOKEN =
  /\\p\{\w+(?:=\w+)?\}|\\u\{\w+\}|\\u\w{4}|\\x\w{2}|\\.|\[(?:[^\]\\]|\\.)*\]|\(\?(?:<?[=!]|:|<\w+>)|[^]/gy
export const QUANTIFIER = /(?:[*+?]|\{(\d+)(?:(,)(\d*))?\})\??/y
