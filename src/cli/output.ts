/** How commands speak: people get tables and progress on a terminal, machines get `--json`. */

/** Writes a line of the command's result on stdout. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** Writes a line for people beside the result, on stderr. */
export function note(line: string): void {
  process.stderr.write(`${line}\n`)
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
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd()
  return [line(columns.map((name) => name.toUpperCase())), ...rows.map(line)]
}

/** Shortest time between two progress lines. */
const PROGRESS_INTERVAL_MS = 500

/** Progress of long work on stderr: one rewritten line on a terminal, sparse lines elsewhere. */
export function progress(unit: string): {
  readonly update: (done: number, detail?: string) => void
  readonly end: () => void
} {
  const startedMs = Date.now()
  const terminal = process.stderr.isTTY
  let shownMs = 0
  let open = false
  return {
    update(done, detail = '') {
      const nowMs = Date.now()
      if (nowMs - shownMs < (terminal ? PROGRESS_INTERVAL_MS : PROGRESS_INTERVAL_MS * 10)) return
      shownMs = nowMs
      const rate = Math.round((done * 1000) / Math.max(1, nowMs - startedMs))
      const text = `${done.toLocaleString('en')} ${unit}, ${rate.toLocaleString('en')}/s ${detail}`
      process.stderr.write(terminal ? `\r\u001b[K${text}` : `${text}\n`)
      open = terminal
    },
    end() {
      if (open) process.stderr.write('\r\u001b[K')
    },
  }
}

/** A failure whose message is all the operator needs: printed without a stack, exit code 1. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
}
