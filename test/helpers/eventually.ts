import { setTimeout as sleep } from 'node:timers/promises'

/** Pause between two looks. */
const LOOK_AGAIN_MS = 10
/** No healthy run comes near it, on however busy a machine. */
const WITHIN_MS = 120_000

/** Asks until the answer is there, which `undefined` and `false` are not. @throws when it does not come in time */
export async function eventually<Result>(
  what: string,
  look: () => Promise<Result | undefined> | Result | undefined,
  withinMs = WITHIN_MS,
): Promise<Result> {
  const untilMs = performance.now() + withinMs
  for (;;) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    if (performance.now() > untilMs) throw new Error(`it never came: ${what}`)
    await sleep(LOOK_AGAIN_MS)
  }
}

/** Waits for a condition that explains itself. */
export async function until(
  condition: () => Promise<boolean> | boolean,
  withinMs?: number,
): Promise<void> {
  await eventually(condition.toString(), condition, withinMs)
}
