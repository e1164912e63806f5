/**
 * Named points between every two steps of a task and of a call. The fault driver kills the process
 * there; otherwise they do nothing.
 */
export const crashPoints = [
  'create.before-admission',
  'create.before-requested',
  'create.after-requested',
  'create.after-provider',
  'create.before-uncertain',
  'create.before-refused',
  'create.after-submitted',
  'observe.before-append',
  'observe.after-append',
  'delete.before-forward',
  'delete.after-forward',
  'delete.after-confirm',
  'delete.before-hide',
  'reconcile.before-adopt',
  'reconcile.after-adopt',
  'reconcile.before-give-up',
  'reconcile.after-give-up',
  'watch.before-append',
  'expire.before-append',
  'poll.after-lease',
  'note.before-poll',
  'note.before-give-up',
  'note.after-give-up',
  'image.after-payload',
  'image.after-start',
  'image.after-provider',
  'image.after-storage',
  'image.after-end',
  'image.before-uncertain',
  'claim.after-taken',
  'claim.before-kept',
  'claim.after-kept',
  'call.after-provider',
  'call.before-append',
  'call.after-append',
  'upload.after-provider',
  'upload.after-uploaded',
  'voice.after-cloned',
  'asset.after-created',
  'asset.after-provider',
  'asset.after-accepted',
  'asset.before-adopt',
  'asset.before-observed',
  'asset.after-withdrawn',
  'asset.after-group-withdrawn',
  'asset.after-deletion',
  'verification.after-provider',
  'verification.after-started',
  'verification.after-result',
  'verification.after-confirmed',
  'file.after-object',
  'file.after-uploaded',
  'file.after-deleted',
  'close.before-append',
  'close.after-append',
  'close.after-tiles',
  'void.before-append',
  'void.after-append',
] as const
export type CrashPointName = (typeof crashPoints)[number]

/** Called at every point; may not return. */
export type CrashPoint = (name: CrashPointName) => void

/** The default. */
export const noCrash: CrashPoint = () => undefined

function isCrashPointName(name: string): name is CrashPointName {
  return (crashPoints as readonly string[]).includes(name)
}

/**
 * Reads `name` or `name:n` (die at the n-th hit, from 1); undefined gives a no-op. `die` defaults
 * to SIGKILL, which nothing can catch.
 * @throws RangeError for an unknown name or a count below 1
 */
export function crashPointFrom(
  setting: string | undefined,
  die: () => void = () => process.kill(process.pid, 'SIGKILL'),
): CrashPoint {
  if (setting === undefined || setting === '') return noCrash
  const [name = '', count = '1'] = setting.split(':')
  if (!isCrashPointName(name)) throw new RangeError(`no crash point is called ${name}`)
  if (!/^[1-9]\d{0,8}$/.test(count)) throw new RangeError(`not a count of hits: ${count}`)
  let left = Number(count)
  return (hit) => {
    if (hit !== name) return
    left -= 1
    if (left === 0) die()
  }
}
