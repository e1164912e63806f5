import type { FamilyKit } from '../family.ts'
import { countOf, type Faults, isOn } from '../faults/vocabulary.ts'
import { Refusal, bearerKey, proxyPage, type Wire, wireOf } from '../http/wire.ts'
import { type Fields, isFields, objectBody } from '../kit/body.ts'
import { signUrl } from '../media/files.ts'
import { usagesOf, type Segment } from '../tasks/record.ts'
import type { StoredTask } from '../tasks/store.ts'
import type { Answer } from '../http/exchange.ts'
import { randomHex } from '../kit/clock.ts'

/** Errors of this wire: the number in a message decides its status and type. */

const TYPES: Readonly<Record<number, string>> = {
  400: 'bad_request_error',
  401: 'authorized_error',
  402: 'insufficient_balance_error',
  404: 'not_found_error',
  422: 'unprocessable_entity_error',
  429: 'rate_limit_error',
  500: 'server_error',
  529: 'overloaded_error',
}

/** Whatever is not listed is a 400. */
const STATUSES: Readonly<Record<string, number>> = {
  '1000': 500,
  '1002': 429,
  '1004': 401,
  '1008': 402,
  '1026': 422,
  '1027': 422,
  '2049': 401,
  '2062': 429,
}

const MESSAGES: Readonly<Record<string, string>> = {
  '1000': 'unknown error',
  '1002': 'rate limit',
  '1004': 'login fail: please carry the API secret key',
  '1008': 'insufficient balance',
  '1026': 'input content sensitive',
  '1027': 'output content sensitive',
  '2013': 'invalid params',
  '2049': 'invalid api key',
}

/** Nothing of that id, or not of this account: a 404 of the number that is a 500 elsewhere. */
export const NOT_FOUND = new Refusal('1000', 'record not found')

/** The text that goes with a number where nothing more is known. */
function messageOf(number: string): string {
  return MESSAGES[number] ?? 'request failed'
}

/** How this family reads credentials and reports errors. */
export function videoWire({ random, options }: FamilyKit, family: string): Wire {
  const answerOf = (status: number, message: string): Answer => {
    const type = TYPES[status] ?? 'server_error'
    const error = { type, message, http_code: String(status) }
    return { status, body: { type: 'error', error, request_id: randomHex(random, 32) } }
  }
  const wire = wireOf(
    {
      family,
      keyOf: bearerKey,
      denied: () => new Refusal('1004', messageOf('1004')),
      unknownSwitch: (message) => new Refusal('2013', message),
      messageOf,
      codeOfStatus: {},
      answer: (refusal) => {
        const { code, message } = refusal
        const status = refusal === NOT_FOUND ? 404 : (STATUSES[code] ?? 400)
        return answerOf(status, `${message} (${code})`)
      },
    },
    options.apiKeys,
  )
  return {
    ...wire,
    failure: (status) => {
      const type = TYPES[status]
      if (type === undefined) return proxyPage(status)
      return answerOf(status, `${type.replaceAll('_', ' ')} (1000)`)
    },
  }
}

/** A create request as far as this upstream reads it; what it does not know it ignores. */
type VideoRequest = Readonly<ReturnType<typeof parseRequest>>

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

/** What a rendered answer needs besides the record's common members. */
export interface VideoDetail extends Pick<VideoRequest, 'duration' | 'resolution'> {
  /** The one that came out. */
  readonly ratio: string
  /** Whether answers to queries have a `base_resp`, which says that the query succeeded. */
  readonly hasBaseResp: boolean
}

/** A reference video is taken to be this long unless a marker says otherwise, seconds. */
const REFERENCE_SECONDS = 5
/** How much more `usage-changes` reports on later queries, seconds. */
const USAGE_CHANGE_SECONDS = 2

export function detailOf({ duration, resolution, ratio }: VideoRequest, id: string): VideoDetail {
  return {
    duration,
    resolution,
    ratio: ratio === 'adaptive' ? '16:9' : ratio,
    hasBaseResp: Number(id.at(-1)) % 2 === 0,
  }
}

/** What a success will report, and what later queries will; `tokens` is its total. */
export function usageOf({ videos, images, duration }: VideoRequest, faults: Faults) {
  const perReference = countOf(faults, 'reference-seconds') ?? REFERENCE_SECONDS
  const inputSeconds = perReference * videos
  const total = countOf(faults, 'tokens') ?? inputSeconds + duration
  const usage = (more: number): object => ({
    ...(isOn(faults, 'total-missing') ? {} : { total_seconds: total + more }),
    input_seconds: inputSeconds,
    output_seconds: duration,
    input_image_count: images,
    input_audio_seconds: 0,
  })
  return usagesOf(faults, usage, USAGE_CHANGE_SECONDS)
}

/** Path under which result files are served. */
export const MEDIA_PATH = '/media/video-b'

type Site = Pick<FamilyKit, 'baseUrl' | 'options' | 'clock'>

function endOf(site: Site, { record, marks }: StoredTask, { phase }: Segment): object {
  if (phase === 'failed') {
    const code = record.plan.failCode ?? '1000'
    return { error: { code, message: messageOf(code) }, usage: {} }
  }
  if (phase !== 'succeeded') return {}
  const usage =
    marks.successReportedAtMs === null ? record.usage : (record.usageLater ?? record.usage)
  // Upstream signs a new URL for each query.
  const url = signUrl(site, `${MEDIA_PATH}/${record.id}.mp4`, site.clock.nowMs())
  return { content: { url }, ...(usage === null ? {} : { usage }) }
}

/** A task as lists hold it. */
export function taskOf(site: Site, task: StoredTask, segment: Segment): object {
  const { record } = task
  const { resolution, ratio, duration } = record.detail as unknown as VideoDetail
  return {
    id: record.id,
    model: record.model,
    task_type: 'generation',
    modality: 'video',
    status: segment.strange ?? segment.phase,
    created_at: Math.floor(record.acceptedAtMs / 1000),
    updated_at: Math.floor(segment.atMs / 1000),
    resolution,
    ratio,
    duration,
    ...endOf(site, task, segment),
  }
}

/** A task as queries and callbacks show it. */
export function taskBody(site: Site, task: StoredTask, segment: Segment): object {
  const { hasBaseResp } = task.record.detail as unknown as VideoDetail
  const base = hasBaseResp ? { base_resp: { status_code: 0, status_msg: 'success' } } : {}
  return { task: taskOf(site, task, segment), ...base }
}
