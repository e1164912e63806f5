import type { Log } from '../kernel/log.ts'

/** A child's log line, JSON by convention. */
export function forward(log: Log, child: string, line: string): void {
  const entry = parseLine(line)
  if (entry === undefined) return log.warn({ child, line }, 'unreadable log line')
  // The gateway's logger writes these members itself.
  const { level, msg, time: _time, pid: _pid, hostname: _host, name: _name, ...fields } = entry
  relay(log, child, level, typeof msg === 'string' ? msg : 'no message', fields)
}

/**
 * Writes a line of a child under the child's name into the gateway's log. Its info lines become debug
 * lines; its warnings keep their level.
 */
export function relay(
  log: Log,
  child: string,
  level: unknown,
  message: string,
  fields: object = {},
): void {
  const severity =
    typeof level === 'number' ? level : (levels[String(level)] ?? levels['info'] ?? 0)
  if (severity >= 50) log.error({ child, ...fields }, message)
  else if (severity >= 40) log.warn({ child, ...fields }, message)
  else log.debug({ child, ...fields }, message)
}

/** The names of log levels as numbers, as pino has them. */
const levels: Readonly<Record<string, number>> = {
  debug: 20,
  info: 30,
  warn: 40,
  error: 50,
  fatal: 60,
}

function parseLine(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}
