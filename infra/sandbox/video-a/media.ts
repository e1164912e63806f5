import type { FamilyKit } from '../family.ts'
import type { Answer } from '../http/exchange.ts'
import { checkSignedUrl } from '../media/files.ts'
import { mp4OfSeconds } from '../media/mp4.ts'
import { pngOf } from '../media/pictures.ts'
import { MEDIA_PATH } from './body.ts'
import type { VideoDetail } from './plan.ts'

const lastFrame = pngOf(64, 64)
const MAX_COUNTED = 200_000

/** Serves result files to whoever holds a signed URL, so often and so long. */
export class ResultFiles {
  readonly #kit: FamilyKit
  readonly #downloads = new Map<string, number>()

  constructor(kit: FamilyKit) {
    this.#kit = kit
  }

  /** A file, or why not: 403 for a bad, expired or used-up URL, 404 for no such file. */
  answer(file: string, query: URLSearchParams): Answer {
    const nowMs = this.#kit.clock.nowMs()
    const refused = checkSignedUrl(`${MEDIA_PATH}/${file}`, query, nowMs)
    if (refused !== null) return xmlError(403, refused)
    const match = /^(cgt-\d{14}-[a-z0-9]{5})(\.mp4|\.mov|-last\.png)$/.exec(file)
    const task = match === null ? null : this.#kit.store.get(match[1] ?? '')
    if (match === null || task === null) return xmlError(404, 'NoSuchKey')
    const count = (this.#downloads.get(file) ?? 0) + 1
    if (count > this.#kit.options.maxDownloads) return xmlError(403, 'DownloadLimitExceeded')
    if (this.#downloads.size >= MAX_COUNTED) this.#downloads.clear()
    this.#downloads.set(file, count)
    if (match[2] === '-last.png') return fileAnswer(lastFrame, 'image/png')
    const { duration } = task.record.detail as unknown as VideoDetail
    return fileAnswer(mp4OfSeconds(duration), match[2] === '.mov' ? 'video/quicktime' : 'video/mp4')
  }
}

function fileAnswer(bytes: Buffer, type: string): Answer {
  return { status: 200, body: bytes, headers: { 'content-type': type } }
}

function xmlError(status: number, code: string): Answer {
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code></Error>\n`
  return { status, body, headers: { 'content-type': 'application/xml' } }
}
