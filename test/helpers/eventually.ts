import { setTimeout as sleep } from 'node:timers/promises'

/** How long to look away between two looks. */
const LOOK_AGAIN_MS = 25

/** Asks until the answer is there, at most `withinMs`. @throws when it does not come */
export async function eventually<Result>(
  what: string,
  look: () => Promise<Result | undefined> | Result | undefined,
  withinMs = 15_000,
): Promise<Result> {
  const untilMs = performance.now() + withinMs
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (performance.now() > untilMs) throw new Error(`it never came: ${what}`)
    await sleep(LOOK_AGAIN_MS)
  }
}
