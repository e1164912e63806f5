import type { Answer } from '../http/exchange.ts'

/** How the stores of result files answer. */

/** A file, or the part of it that is asked for. */
export function fileAnswer(bytes: Buffer, type: string, range: string | undefined): Answer {
  const headers = { 'content-type': type, 'accept-ranges': 'bytes' }
  const asked = /^bytes=(\d{1,12})-(\d{0,12})$/.exec(range ?? '')
  if (asked === null) return { status: 200, body: bytes, headers }
  const first = Number(asked[1])
  const last = Math.min(bytes.length - 1, asked[2] === '' ? Infinity : Number(asked[2]))
  if (first > last)
    return {
      status: 416,
      body: '',
      headers: { ...headers, 'content-range': `bytes */${bytes.length}` },
    }
  const place = `bytes ${first}-${last}/${bytes.length}`
  const body = bytes.subarray(first, last + 1)
  return { status: 206, body, headers: { ...headers, 'content-range': place } }
}

/** Why there is none. */
export function noFile(status: number, code: string): Answer {
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code></Error>\n`
  return { status, body, headers: { 'content-type': 'application/xml' } }
}
