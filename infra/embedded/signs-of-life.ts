/**
 * Signs of life of child processes. A child can hang without ending: its event loop is blocked, it
 * was stopped, or its server does not answer. It is killed then, and restarted like one that ended.
 */

import type { ChildProcess } from 'node:child_process'

const SIGN_EVERY_MS = 10_000
/** With fewer, a machine that is only slow would lose its stores. */
const MOST_MISSED = 3

/** Variable by which a parent sets the interval of its child's signs. */
export const SIGN_EVERY_VARIABLE = 'TOLLGATE_SIGN_EVERY_MS'

const SIGN = 'alive'

/** Sends signs to the parent, each after `isServing` said yes. */
export function giveSigns(isServing: () => Promise<boolean>): void {
  const everyMs = Number(process.env[SIGN_EVERY_VARIABLE] ?? SIGN_EVERY_MS)
  let looking = false
  const sign = async (): Promise<void> => {
    if (looking) return
    looking = true
    const serves = await isServing().catch(() => false)
    looking = false
    // A parent that is gone is noticed by the channel.
    if (serves) process.send?.(SIGN, () => undefined)
  }
  setInterval(() => void sign(), everyMs).unref()
}

/**
 * Calls `onSilent` once where a child that gave signs gives none for long. Intervals are counted, and no
 * time is measured: a machine that slept wakes parent and child together.
 *
 * @returns how to end the watch
 */
export function watchSigns(
  child: ChildProcess,
  { everyMs = SIGN_EVERY_MS }: { readonly everyMs?: number | undefined },
  onSilent: (silentMs: number) => void,
): () => void {
  let missed: number | undefined
  child.on('message', (message) => {
    if (message === SIGN) missed = 0
  })
  const timer = setInterval(() => {
    if (missed === undefined) return
    missed += 1
    if (missed <= MOST_MISSED) return
    clearInterval(timer)
    onSilent(missed * everyMs)
  }, everyMs).unref()
  return () => clearInterval(timer)
}
