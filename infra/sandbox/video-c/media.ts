import type { FastifyRequest } from 'fastify'
import type { FamilyKit } from '../family.ts'
import type { Answer } from '../http/exchange.ts'
import { mp4OfSeconds } from '../media/mp4.ts'
import { pngOf } from '../media/png.ts'
import { checkSignedUrl } from '../media/signed-url.ts'
import { MEDIA_PATH } from './body.ts'
import type { VideoDetail } from './plan.ts'

const cover = pngOf(64, 64)

/** A result file for whoever holds its signed URL, in parts where it is asked for in parts. */
export function resultFile(
  kit: FamilyKit,
  file: string,
  query: URLSearchParams,
  { headers }: FastifyRequest,
): Answer {
  const refused = checkSignedUrl(`${MEDIA_PATH}/${file}`, query, kit.clock.nowMs())
  if (refused !== null) return xmlError(403, refused)
  const match = /^(\d{16})(\.mp4|-mark\.mp4|-cover\.png)$/.exec(file)
  const task = match === null ? null : kit.store.get(match[1] ?? '')
  if (match === null || task === null) return xmlError(404, 'NoSuchKey')
  if (match[2] === '-cover.png') return partOf(cover, 'image/png', headers.range)
  const { duration } = task.record.detail as unknown as VideoDetail
  return partOf(mp4OfSeconds(duration), 'video/mp4', headers.range)
}

function partOf(bytes: Buffer, type: string, range: string | undefined): Answer {
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

function xmlError(status: number, code: string): Answer {
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code></Error>\n`
  return { status, body, headers: { 'content-type': 'application/xml' } }
}
