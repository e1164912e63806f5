import { RequestError } from './request-error.ts'

/** What a signal of `AbortSignal.timeout` ends with. */
const TIME_IS_UP = 'TimeoutError'
/** Postgres ended a statement that took longer than it may. */
const STATEMENT_ENDED = '57014'
/** A table or a column is not there: the read model is of an older version, and is being rebuilt. */
const NOT_THERE_YET: readonly unknown[] = ['42P01', '42703']

/** Runs a query. @throws RequestError `query_too_long`, with what would make it shorter; `outage` */
export async function inTime<Found>(
  narrowing: string,
  query: () => Promise<Found>,
): Promise<Found> {
  try {
    return await query()
  } catch (error) {
    const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined
    const isTimeUp = error instanceof Error && error.name === TIME_IS_UP
    if (code === STATEMENT_ENDED || isTimeUp)
      throw new RequestError(
        'query_too_long',
        `The query takes too long: ${narrowing}`,
        undefined,
        error,
      )
    if (NOT_THERE_YET.includes(code))
      throw new RequestError('outage', 'What this reads is being built', undefined, error)
    throw error
  }
}
