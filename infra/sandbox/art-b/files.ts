import type { FamilyKit } from '../family.ts'
import { type Faults, isOn } from '../faults/vocabulary.ts'
import type { Answer } from '../http/exchange.ts'
import { checkSignedUrl, signUrl } from '../media/files.ts'
import { type PictureFormat, pictureOf } from '../media/pictures.ts'
import type { DrawingAsk } from './parse.ts'

/** Path under which result files are served. */
export const PICTURES_PATH = '/media/art-b'

const NAME = /^[a-z0-9]{8,40}-\d{1,3}-(\d{1,5})x(\d{1,5})(-black)?(-half)?\.(png|jpeg)$/

/** What one picture of an answer is, by the name of its file: nothing has to be kept of it. */
export function fileName(id: string, index: number, ask: DrawingAsk, faults: Faults): string {
  const black = isOn(faults, 'black') || (isOn(faults, 'one-black') && index === 0)
  const marks = `${black ? '-black' : ''}${isOn(faults, 'other-size') ? '-half' : ''}`
  return `${id}-${index}-${ask.width}x${ask.height}${marks}.${ask.format}`
}

/** The bytes of a file of that name; null when there is none. */
export async function bytesOf(name: string): Promise<Buffer | null> {
  const [, width, height, black, half, format] = NAME.exec(name) ?? []
  if (width === undefined) return null
  const by = half === undefined ? 1 : 2
  const sides = [Number(width) / by, Number(height) / by] as const
  return pictureOf(
    Math.ceil(sides[0]),
    Math.ceil(sides[1]),
    format as PictureFormat,
    black !== undefined,
  )
}

export function urlOf(kit: Pick<FamilyKit, 'baseUrl' | 'options' | 'clock'>, name: string): string {
  const { options, clock } = kit
  return signUrl(kit.baseUrl(), `${PICTURES_PATH}/${name}`, clock.nowMs(), options.urlSeconds)
}

/** A file, or why not: 403 for a bad or expired URL, 404 for no such file. */
export async function fileAnswer(
  name: string,
  query: URLSearchParams,
  nowMs: number,
): Promise<Answer> {
  const refused = checkSignedUrl(`${PICTURES_PATH}/${name}`, query, nowMs)
  if (refused !== null) return xmlError(403, refused)
  const bytes = await bytesOf(name)
  if (bytes === null) return xmlError(404, 'NoSuchKey')
  const type = name.endsWith('.png') ? 'image/png' : 'image/jpeg'
  return { status: 200, body: bytes, headers: { 'content-type': type } }
}

function xmlError(status: number, code: string): Answer {
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code></Error>\n`
  return { status, body, headers: { 'content-type': 'application/xml' } }
}
