/** What the files of a process share ends with the process (`worker.ts`). */

const closers: (() => Promise<void>)[] = []

/** Has this done when the process has run all its files. */
export function atProcessEnd(close: () => Promise<void>): void {
  closers.push(close)
}

export async function closeAll(): Promise<void> {
  for (const close of closers.splice(0)) await close()
}
