import { type Buffer, isAscii } from 'node:buffer'
import { newUuid } from './ids.ts'

/** Shorter strings are parsed with the rest. */
const SHORTEST_LIFTED_BYTES = 32 * 1024
const QUOTE = 0x22
const BACKSLASH = 0x5c
/** Control characters that a broken encoder may leave in a text: it is parsed, and so refused. */
const CONTROLS = [0x00, 0x09, 0x0a, 0x0d]

/** What stands in parsed JSON for a string that was left where it is; nobody outside can know it. */
const mark = `${newUuid()} `

export interface LiftedJson {
  /** Parsed, long strings replaced by marks. */
  readonly value: unknown
  /** What a mark stands for, ASCII as it came; undefined for any other text. */
  readonly bytesOf: (text: string) => Uint8Array | undefined
}

export interface Lifting {
  readonly shortestBytes?: number
  /** Which of the long strings are left as bytes; all without it. */
  readonly isWanted?: (inside: Buffer) => boolean
  /** Reads what is left; `JSON.parse` without it. */
  readonly parse?: (text: string) => unknown
}

/**
 * Parses JSON without making text of its long strings, such as media in base64: those stay bytes,
 * which need neither be decoded nor be encoded again. A string with an escape, or with more than ASCII,
 * is parsed.
 *
 * @throws SyntaxError, or what `parse` throws
 */
export function parseLifting(json: Buffer, how: Lifting = {}): LiftedJson {
  const { shortestBytes = SHORTEST_LIFTED_BYTES, isWanted = () => true, parse = JSON.parse } = how
  const lifted: Uint8Array[] = []
  let text = ''
  let from = 0
  for (let open = json.indexOf(QUOTE); open !== -1;) {
    const close = closingQuote(json, open)
    if (close === -1) break
    const inside = json.subarray(open + 1, close)
    if (inside.length >= shortestBytes && isWanted(inside) && isPlain(inside)) {
      text += `${json.toString('utf8', from, open)}"${mark}${lifted.length}"`
      lifted.push(inside)
      from = close + 1
    }
    open = json.indexOf(QUOTE, close + 1)
  }
  return {
    value: parse(text + json.toString('utf8', from)),
    bytesOf: (found) =>
      found.startsWith(mark) ? lifted[Number(found.slice(mark.length))] : undefined,
  }
}

function isPlain(text: Buffer): boolean {
  return (
    !text.includes(BACKSLASH) &&
    isAscii(text) &&
    !CONTROLS.some((control) => text.includes(control))
  )
}

function closingQuote(json: Buffer, open: number): number {
  let close = json.indexOf(QUOTE, open + 1)
  while (close !== -1) {
    let backslashes = 0
    while (json[close - 1 - backslashes] === BACKSLASH) backslashes += 1
    if (backslashes % 2 === 0) return close
    close = json.indexOf(QUOTE, close + 1)
  }
  return -1
}
