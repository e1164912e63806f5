import { isFields, objectBody, type Fields } from '../kit/body.ts'
import { Refusal } from '../http/wire.ts'

/** A create request as far as this upstream reads it; what it does not know it ignores. */
export type VideoRequest = Readonly<ReturnType<typeof parseRequest>>

const ROLES: Readonly<Record<string, readonly string[]>> = {
  image_url: ['first_frame', 'last_frame', 'reference_image'],
  video_url: ['reference_video', 'base_video'],
  audio_url: ['reference_audio'],
}
const RESOLUTIONS = ['480P', '768P', '2K']
const RATIOS = ['adaptive', '21:9', '16:9', '4:3', '1:1', '3:4', '9:16']
const MAX_MODEL_LENGTH = 100
const MAX_ITEMS = 13

const invalid = (why: string): Refusal => new Refusal('2013', `invalid params, ${why}`)

function fieldsOf(value: unknown, what: string): Fields {
  if (!isFields(value)) throw invalid(`${what} must be an object`)
  return value
}

/** The body as an object. @throws Refusal */
export function parseBody(body: Buffer | null): Fields {
  return objectBody(body, (isJson) =>
    invalid(isJson ? 'the body must be an object' : 'the body is not valid JSON'),
  )
}

function word(body: Fields, name: string, allowed: readonly string[]): string {
  const value = body[name]
  if (typeof value !== 'string' || !allowed.includes(value))
    throw invalid(`${name} must be one of ${allowed.join(', ')}`)
  return value
}

/** By its own scheme, an address, or data: never by the scheme of a gateway in front of it. */
function checkUrl(value: unknown, type: string): void {
  const kind = type.slice(0, type.indexOf('_'))
  const isLocator =
    typeof value === 'string' &&
    (/^https?:\/\/./.test(value) ||
      /^mm_file:\/\/[1-9]\d{0,18}$/.test(value) ||
      value.startsWith(`data:${kind}/`))
  if (!isLocator) throw invalid(`${type}.url is not valid`)
}

interface Item {
  readonly type: string
  readonly role: string
  readonly text: string
}

function itemOf(value: unknown): Item {
  const item = fieldsOf(value, 'an item of content')
  const { type, role, text } = item
  if (type === 'text') {
    if (typeof text !== 'string' || text === '') throw invalid('text is required')
    return { type, role: '', text }
  }
  if (typeof type !== 'string' || !Object.hasOwn(ROLES, type)) throw invalid('type is unknown')
  if (typeof role !== 'string' || !ROLES[type]?.includes(role))
    throw invalid(`role does not fit ${type}`)
  checkUrl(fieldsOf(item[type], type)['url'], type)
  return { type, role, text: '' }
}

/** Reads a create request. @throws Refusal */
export function parseRequest(body: Fields) {
  const { model, content, duration, callback_url: callbackUrl = null } = body
  if (typeof model !== 'string' || model === '' || model.length > MAX_MODEL_LENGTH)
    throw invalid('model is required')
  if (!Array.isArray(content) || content.length === 0 || content.length > MAX_ITEMS)
    throw invalid(`content must have 1 to ${MAX_ITEMS} items`)
  const items = content.map(itemOf)
  const texts = items.filter(({ type }) => type === 'text')
  if (texts.length !== 1) throw invalid('content must have one text')
  if (typeof duration !== 'number' || !Number.isInteger(duration) || duration < 4 || duration > 15)
    throw invalid('duration must be between 4 and 15')
  if (callbackUrl !== null && (typeof callbackUrl !== 'string' || !URL.canParse(callbackUrl)))
    throw invalid('callback_url is not a URL')
  const ratio = word(body, 'ratio', RATIOS)
  if (items.length === 1 && ratio === 'adaptive') throw invalid('ratio must not be adaptive')
  return {
    model,
    prompt: texts[0]?.text ?? '',
    images: items.filter(({ type }) => type === 'image_url').length,
    videos: items.filter(({ type }) => type === 'video_url').length,
    duration,
    resolution: word(body, 'resolution', RESOLUTIONS),
    ratio,
    callbackUrl,
  }
}
