/** Socket errors and Postgres conditions that mean "not there now", not "wrong". */
const outageCodes: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ECONNABORTED',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
  // Postgres: shutting down, crashed, starting, too many connections, query cancelled, disk full.
  '57P01',
  '57P02',
  '57P03',
  '57014',
  '53100',
  '53200',
  '53300',
  // No such schema, table or column: a read model of another version, or one dropped, whose tables are being made.
  '3F000',
  '42P01',
  '42703',
])

const outageMessages =
  /connection terminated|^timeout expired$|timeout exceeded when trying to connect|client has encountered a connection error|query read timeout|cannot use a pool after calling end/i

/** Whether a failure is a dependency that is away: the caller gets 503, not 500 (P9). */
export function isOutage(error: object): boolean {
  const code: unknown = Reflect.get(error, 'code')
  if (typeof code === 'string' && (outageCodes.has(code) || code.startsWith('08'))) return true
  const inner: unknown = Reflect.get(error, 'errors')
  if (Array.isArray(inner))
    return inner.some((each) => typeof each === 'object' && each !== null && isOutage(each))
  return error instanceof Error && outageMessages.test(error.message)
}
