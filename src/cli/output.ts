import { monotonicClock } from '../kernel/clock.ts'

/** Output of commands: people get tables and progress on a terminal, machines get `--json`. */

/** The reader of the output has gone, as with `| head`: no failure, and nothing left to print. */
export class OutputClosedError extends Error {
  override readonly name = 'OutputClosedError'
}

/** A failure whose message is all the operator needs: printed without a stack, exit code 1. */
export class CommandError extends Error {
  override readonly name: string = 'CommandError'
}

/** Arguments that no state of the stores would make right: exit code 2, as for an unknown option. */
export class UsageError extends CommandError {
  override readonly name = 'UsageError'
}

let closed = false

/** To be called once, first: a reader that goes away must not crash the program. */
export function watchOutput(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    closed = true
  })
  process.stderr.on('error', () => undefined)
}

/**
 * Writes a line of the command's result on stdout. @throws OutputClosedError when its reader has
 * gone
 */
export function print(line: string): void {
  write(`${line}\n`)
}

function write(text: string | Uint8Array): void {
  if (closed) throw new OutputClosedError('the reader of the output is gone')
  process.stdout.write(text)
}

/** Prints a line of a long result: waits while the reader is slower. */
export function printPaced(line: string): Promise<void> {
  return writePaced(`${line}\n`)
}

/** Writes a part of a long result as it is. @throws OutputClosedError */
export async function writePaced(text: string | Uint8Array): Promise<void> {
  write(text)
  const { stdout } = process
  if (!stdout.writableNeedDrain) return
  await new Promise<void>((resolve) => {
    const done = (): void => {
      for (const name of ['drain', 'error', 'close'] as const) stdout.off(name, done)
      resolve()
    }
    for (const name of ['drain', 'error', 'close'] as const) stdout.on(name, done)
  })
}

/** Writes a line for people beside the result, on stderr. */
export function note(line: string): void {
  process.stderr.write(`${line}\n`)
}

/**
 * Prints a result for machines or, member by member, for people; called before waiting for a read
 * model, because a secret is nowhere else.
 */
export function show(result: Readonly<Record<string, unknown>>, json: boolean | undefined): void {
  if (json) return print(toJson(result))
  for (const [name, value] of Object.entries(result))
    if (value !== undefined) print(`${name}: ${typeof value === 'string' ? value : toJson(value)}`)
}

/** JSON in which a bigint is a decimal string. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    typeof item === 'bigint' ? item.toString() : item,
  )
}

/** A table with columns as wide as their longest cell. */
export function table(
  columns: readonly string[],
  rows: readonly (readonly string[])[],
): readonly string[] {
  const widths = columns.map((name, i) =>
    Math.max(name.length, ...rows.map((row) => (row[i] ?? '').length)),
  )
  return [columns.map((name) => name.toUpperCase()), ...rows].map((cells) => row(cells, widths))
}

/** One line of a table whose columns are this wide. */
export function row(cells: readonly string[], widths: readonly number[]): string {
  return cells
    .map((cell, i) => cell.padEnd(widths[i] ?? 0))
    .join('  ')
    .trimEnd()
}

/** Shortest time between two progress lines: on a terminal, and where each stays. */
const PROGRESS_INTERVAL_MS = 500
const SPARSE_PROGRESS_INTERVAL_MS = 5_000

/**
 * Progress of long work on stderr: one rewritten line on a terminal, sparse lines elsewhere, none
 * for what is done at once.
 */
export function progress(unit: string): {
  readonly update: (done: number, detail?: string) => void
  readonly end: () => void
} {
  const terminal = process.stderr.isTTY
  const intervalMs = terminal ? PROGRESS_INTERVAL_MS : SPARSE_PROGRESS_INTERVAL_MS
  let startedMs: number | undefined
  let shownMs = 0
  let open = false
  return {
    update(done, detail = '') {
      const nowMs = monotonicClock.nowMs()
      if (startedMs === undefined) startedMs = shownMs = nowMs
      if (nowMs - shownMs < intervalMs) return
      shownMs = nowMs
      const rate = Math.round((done * 1000) / Math.max(1, nowMs - startedMs))
      const text = `${done.toLocaleString('en')} ${unit}, ${rate.toLocaleString('en')}/s ${detail}`
      process.stderr.write(terminal ? `\r\u001b[K${text}` : `${text.trimEnd()}\n`)
      open = terminal
    },
    end() {
      if (open) process.stderr.write('\r\u001b[K')
    },
  }
}
