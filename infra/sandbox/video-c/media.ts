import type { FastifyRequest } from 'fastify'
import type { FamilyKit } from '../family.ts'
import type { Answer } from '../http/exchange.ts'
import { checkSignedUrl, fileAnswer, noFile } from '../media/files.ts'
import { mp4OfSeconds } from '../media/mp4.ts'
import { pngOf } from '../media/pictures.ts'
import { idInPath, queryOf } from '../tasks/run.ts'
import { MEDIA_PATH } from './body.ts'
import type { VideoDetail } from './plan.ts'

const cover = pngOf(64, 64)

/** A result file for whoever holds its signed URL, in parts where it is asked for in parts. */
export function resultFile(kit: FamilyKit, request: FastifyRequest): Answer {
  const { headers } = request
  const file = idInPath(request)
  const refused = checkSignedUrl(`${MEDIA_PATH}/${file}`, queryOf(request), kit.clock.nowMs())
  if (refused !== null) return noFile(403, refused)
  const match = /^(\d{16})(\.mp4|-mark\.mp4|-cover\.png)$/.exec(file)
  const task = match === null ? null : kit.store.get(match[1] ?? '')
  if (match === null || task === null) return noFile(404, 'NoSuchKey')
  if (match[2] === '-cover.png') return fileAnswer(cover, 'image/png', headers.range)
  const { duration } = task.record.detail as unknown as VideoDetail
  return fileAnswer(mp4OfSeconds(duration), 'video/mp4', headers.range)
}
