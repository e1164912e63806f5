import type { Envelope } from '../kit/envelope.ts'
import { failureTable } from '../kit/failure-table.ts'
import { toRequestError } from '../kit/request-error.ts'

/** The error shape of every path that belongs to no family: `{error: {code, message}}`. */
export const operatingEnvelope: Envelope = (error) => {
  const { fault, message } = toRequestError(error)
  return {
    status: failureTable[fault].status,
    headers: { 'cache-control': 'no-store' },
    body: { error: { code: fault, message } },
  }
}
