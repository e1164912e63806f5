/** Messages of a supervised child process to its parent, and the parent's request to stop. */

type Level = 'debug' | 'info' | 'warn' | 'error' | 'fatal'

/** Writes one JSON line on stderr; the parent forwards it to its own log. */
export function logLine(
  level: Level,
  msg: string,
  fields: Readonly<Record<string, unknown>> = {},
): void {
  process.stderr.write(`${JSON.stringify({ level, msg, ...fields })}\n`)
}

/** Reports to the parent, once, that this child serves `url`. */
export function announceReady(url: string, fields: Readonly<Record<string, unknown>> = {}): void {
  process.stdout.write(`${JSON.stringify({ event: 'ready', url, ...fields })}\n`)
}

/**
 * Reports to the parent, in words for the operator, why this child is about to exit with a failure.
 */
export function announceFailure(
  reason: string,
  fields: Readonly<Record<string, unknown>> = {},
): void {
  process.stdout.write(`${JSON.stringify({ event: 'failed', reason })}\n`)
  logLine('fatal', reason, fields)
}

/**
 * Calls `stop` once, on a termination signal or when the parent is gone, however it died: the kernel closes the
 * channel between the two, which arrives here as `disconnect`.
 */
export function onStopRequest(stop: (why: string) => void): void {
  let asked = false
  const once = (why: string): void => {
    if (asked) return
    asked = true
    stop(why)
  }
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.on(signal, () => once(signal))
  // A dead parent no longer reads: without these listeners, the next log line would crash this
  // process.
  process.stdout.on('error', () => undefined)
  process.stderr.on('error', () => undefined)
  if (process.send === undefined) return
  process.on('disconnect', () => once('parent gone'))
  if (!process.connected) once('parent gone')
}
