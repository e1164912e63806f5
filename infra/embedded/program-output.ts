import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { owned } from '../../src/platform/owned.ts'

/** Time to wait for the last output of a program that has exited. */
const LAST_WORDS_MS = 200
/** Lines kept to explain its end. */
const TAIL_LINES = 15
/** Longest line that is kept. */
const MAX_LINE_CHARS = 16_384

/** Calls `onLine` for each line of a program's output. */
export function eachLine(stream: Readable | null, onLine: (line: string) => void): void {
  if (stream === null) return
  owned(createInterface({ input: owned(stream), crlfDelay: Infinity })).on('line', onLine)
}

/** Keeps the last lines, shortened. */
export class Tail {
  readonly #lines: string[] = []

  add(line: string): void {
    this.#lines.push(line.slice(0, MAX_LINE_CHARS))
    if (this.#lines.length > TAIL_LINES) this.#lines.shift()
  }

  lines(): readonly string[] {
    return this.#lines
  }
}

/**
 * Resolves with how a program ended, once its last words were read; never rejects. A process that it
 * left behind may hold its output open: that is not waited for.
 */
export function howItEnds(program: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    program.on('error', (error) => resolve(`cannot be started: ${error.message}`))
    program.once('exit', (code, signal) => {
      const how = signal === null ? `exited with status ${String(code)}` : `ended by ${signal}`
      const timer = setTimeout(resolve, LAST_WORDS_MS, how)
      program.once('close', () => {
        clearTimeout(timer)
        resolve(how)
      })
    })
  })
}
