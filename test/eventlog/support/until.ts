import { setTimeout as sleep } from 'node:timers/promises'

/** Waits for something to become true. @throws when it does not within a generous time */
export async function until(condition: () => boolean, timeoutMs = 15_000): Promise<void> {
  const limitMs = performance.now() + timeoutMs
  while (!condition()) {
    if (performance.now() > limitMs) throw new Error('it did not happen in time')
    await sleep(20)
  }
}
