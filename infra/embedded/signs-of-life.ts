/**
 * Signs of life of what is supervised. It can hang without ending: its event loop is blocked, it was
 * stopped, or its server does not answer. It is killed then, and restarted as if it had ended.
 */

const SIGN_EVERY_MS = 10_000
/** With fewer, a machine that is only slow would lose its stores. */
const MOST_MISSED = 3

/** Variable by which a parent sets the interval of its child's signs. */
export const SIGN_EVERY_VARIABLE = 'TOLLGATE_SIGN_EVERY_MS'

/** The message of a child that lives. */
export const SIGN = 'alive'

/** Sends signs to the parent. */
export function giveSigns(): void {
  const everyMs = Number(process.env[SIGN_EVERY_VARIABLE] ?? SIGN_EVERY_MS)
  // A parent that is gone is noticed by the channel.
  setInterval(() => process.send?.(SIGN, () => undefined), everyMs).unref()
}

/**
 * Calls `sign` at each interval at which `isServing` says yes.
 *
 * @returns how to end asking
 */
export function askForSigns(
  isServing: () => Promise<boolean>,
  sign: () => void,
  everyMs = SIGN_EVERY_MS,
): () => void {
  let asking = false
  const ask = async (): Promise<void> => {
    if (asking) return
    asking = true
    const serves = await isServing().catch(() => false)
    asking = false
    if (serves) sign()
  }
  const timer = setInterval(() => void ask(), everyMs).unref()
  return () => clearInterval(timer)
}

/** Counts the signs of one life. */
interface SignWatch {
  readonly sign: () => void
  readonly end: () => void
}

/**
 * Calls `onSilent` once where signs were given and then none for long. Intervals are counted, and no
 * time is measured: a machine that slept wakes all of its processes together.
 */
export function watchSigns(
  onSilent: (silentMs: number) => void,
  everyMs = SIGN_EVERY_MS,
): SignWatch {
  let missed: number | undefined
  const timer = setInterval(() => {
    if (missed === undefined) return
    missed += 1
    if (missed <= MOST_MISSED) return
    clearInterval(timer)
    onSilent(missed * everyMs)
  }, everyMs).unref()
  return { sign: () => (missed = 0), end: () => clearInterval(timer) }
}
