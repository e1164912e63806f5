/** What has to be let go again after a benchmark, the last first. */
export interface Closers {
  readonly add: <T extends { readonly stop: () => Promise<void> }>(opened: T) => T
  readonly later: (close: () => Promise<unknown>) => void
}

/** Runs a benchmark; whatever it opened is let go of, also when it fails. */
export async function withClosers<T>(work: (closers: Closers) => Promise<T>): Promise<T> {
  const list: (() => Promise<unknown>)[] = []
  const closers: Closers = {
    add: (opened) => {
      list.unshift(opened.stop)
      return opened
    },
    later: (close) => list.unshift(close),
  }
  try {
    return await work(closers)
  } finally {
    for (const close of list)
      await close().catch((error: unknown) =>
        process.stderr.write(`closing failed: ${String(error)}\n`),
      )
  }
}

/** Tells on stderr how far a long benchmark is. */
export function tell(text: string): void {
  process.stderr.write(`  ${text}\n`)
}

/** The middle one. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
