import { countOf } from '../../../kernel/json.ts'

/** What an answer holds, where usage must be estimated from it. */

/** UTF-8 bytes of a value if it is a string. */
export function bytesOf(value: unknown): number {
  return typeof value === 'string' ? Buffer.byteLength(value) : 0
}

/** How many alternatives a request asks for, by the member that says so. */
export function expectedChoices(value: unknown): number {
  return Math.max(countOf(value) ?? 1, 1)
}
