import { createHmac } from 'node:crypto'
import { Refusal, type Wire, wireOf } from '../http/wire.ts'
import { objectBody, type Fields, Members } from '../kit/body.ts'
import { credentialHash } from '../calls/store.ts'
import type { FamilyKit } from '../family.ts'
import { type Random, randomHex } from '../kit/clock.ts'
import type { StoredTask } from '../tasks/store.ts'

/** A creation as far as this upstream reads it; what it does not know it ignores. */
export type VideoRequest = Readonly<ReturnType<typeof parseRequest>>

export const modes = ['text2video', 'img2video', 'start-end2video', 'reference2video'] as const
export type Mode = (typeof modes)[number]

const MODEL = /^reel(?:q3-turbo|q3-pro|q2|q2-pro-fast|q2-pro|q2-turbo|q1|q1-classic|2\.0|1\.5)$/
const IMAGES: Readonly<Record<Mode, readonly [min: number, max: number]>> = {
  text2video: [0, 0],
  img2video: [1, 1],
  'start-end2video': [2, 2],
  reference2video: [1, 7],
}
const RATIOS = ['16:9', '9:16', '1:1', '3:4', '4:3']
const MAX_PROMPT_CHARACTERS = 2_000
const MAX_PAYLOAD_CHARACTERS = 1_048_576

/** The body as an object. @throws Refusal */
export function parseBody(body: Buffer | null): Fields {
  return objectBody(body, (isJson) => {
    const why = isJson ? 'body must be an object' : 'body is not valid JSON'
    return new Refusal('BadRequest', why)
  })
}

const members = (body: Fields): Members =>
  new Members(body, {
    invalid: (name, why) => new Refusal('FieldInvalid', `field ${name} is invalid: ${why}`),
    maxLength: 8_192,
    tooLong: 'it is too long',
  })

function parseImages(body: Members, mode: Mode): number {
  const images = body.any('images') ?? []
  if (!Array.isArray(images) || !images.every((image) => typeof image === 'string'))
    throw body.invalid('images', 'it must be an array of strings')
  const [min, max] = IMAGES[mode]
  if (images.length < min || images.length > max)
    throw new Refusal('FieldItemCountOutOfRange', `field images must have ${min} to ${max} items`)
  return images.length
}

function parseModel(body: Members): string {
  const model = body.text('model') ?? ''
  if (model === '') throw new Refusal('FieldLacking', 'field model is lacking')
  if (!MODEL.test(model)) throw new Refusal('ModelUnavailable', `model ${model} is unavailable`)
  return model
}

/** @throws Refusal */
export function parseRequest(mode: Mode, fields: Fields) {
  const body = members(fields)
  const model = parseModel(body)
  const prompt = body.text('prompt', MAX_PROMPT_CHARACTERS) ?? ''
  if (prompt === '' && (mode === 'text2video' || mode === 'reference2video'))
    throw new Refusal('FieldLacking', 'field prompt is lacking')
  const callbackUrl = body.text('callback_url') ?? ''
  if (callbackUrl !== '' && !URL.canParse(callbackUrl)) throw body.invalid('callback_url', 'no URL')
  // A number on this wire, unlike what callers of others write.
  body.integer('wm_position', 1, 4)
  body.text('wm_url')
  return {
    mode,
    model,
    prompt,
    images: parseImages(body, mode),
    duration: body.integer('duration', 1, 16) ?? (/^reel\d/.test(model) ? 4 : 5),
    resolution: body.word('resolution', ['540p', '720p', '1080p']) ?? '720p',
    aspectRatio: body.word('aspect_ratio', RATIOS) ?? '16:9',
    movementAmplitude:
      body.word('movement_amplitude', ['auto', 'small', 'medium', 'large']) ?? 'auto',
    bgm: body.flag('bgm') ?? false,
    seed: body.integer('seed', 0, 2 ** 31 - 1),
    payload: body.text('payload', MAX_PAYLOAD_CHARACTERS) ?? '',
    offPeak: body.flag('off_peak') ?? false,
    watermark: body.flag('watermark') ?? false,
    callbackUrl: callbackUrl === '' ? null : callbackUrl,
  }
}

/** Errors of this wire: a reason decides its HTTP status. */

/** Whatever is not listed is a 400. */
const STATUSES: Readonly<Record<string, number>> = {
  Unauthorized: 401,
  Forbidden: 403,
  TaskNotFound: 404,
  CreationNotFound: 404,
  NotFound: 404,
  Conflict: 409,
  QuotaExceeded: 429,
  TooManyRequests: 429,
  SystemThrottling: 429,
  Canceled: 499,
  InternalServiceFailure: 500,
}

const MESSAGES: Readonly<Record<string, string>> = {
  Unauthorized: 'token is invalid',
  TaskNotFound: 'task not found',
  CreditInsufficient: 'credit is insufficient',
  InternalServiceFailure: 'internal service failure',
  SystemThrottling: 'system is throttling, try again later',
}

function messageOf(reason: string): string {
  return MESSAGES[reason] ?? `the request failed: ${reason}`
}

const REASON_OF_STATUS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'TaskNotFound',
  409: 'Conflict',
  429: 'SystemThrottling',
  499: 'Canceled',
  500: 'InternalServiceFailure',
}

/** A refusal with the usual text of its reason. */
export function refusalOf(reason: string): Refusal {
  return new Refusal(reason, messageOf(reason))
}

/** How this family reads credentials, which are `Token` and not `Bearer`, and reports errors. */
export function videoWire(
  { random, options }: FamilyKit,
  family: string,
  keys: CallbackKeys,
): Wire {
  const wire = wireOf(
    {
      family,
      keyOf: ({ headers }) => /^Token\s+(\S+)$/.exec(headers.authorization ?? '')?.[1],
      denied: () => refusalOf('Unauthorized'),
      unknownSwitch: (message) => new Refusal('FieldInvalid', message),
      messageOf,
      codeOfStatus: REASON_OF_STATUS,
      answer: ({ code: reason, message }) => {
        const status = STATUSES[reason] ?? 400
        const metadata = { trace_id: randomHex(random, 32) }
        return { status, body: { code: status, reason, message, metadata } }
      },
    },
    options.apiKeys,
  )
  return {
    ...wire,
    credential: (request) => {
      const key = wire.credential(request)
      keys.learn(key)
      return key
    },
  }
}

/** Callbacks are signed with the credential that made the task, which is on no record: it is learned. */

const ACCESS_KEY = 'clip'
const MAX_ACCOUNTS = 1_000

export class CallbackKeys {
  readonly #keys = new Map<string, string>()
  readonly #random: Random
  readonly #nowMs: () => number

  constructor(random: Random, nowMs: () => number) {
    this.#random = random
    this.#nowMs = nowMs
  }

  learn(credential: string): void {
    if (this.#keys.size < MAX_ACCOUNTS) this.#keys.set(credentialHash(credential), credential)
  }

  headersFor({ record }: StoredTask, target: URL): Readonly<Record<string, string>> {
    const key = this.#keys.get(record.credential)
    if (key === undefined) return {}
    const date = new Date(this.#nowMs()).toUTCString()
    const nonce = randomHex(this.#random, 32)
    const signed = [`Date:${date}`, `x-request-nonce:${nonce}`]
    const parts = ['POST', target.pathname, target.search.slice(1), ACCESS_KEY, date, ...signed]
    const text = parts.map((part) => `${part}\n`).join('')
    return {
      date,
      'x-request-nonce': nonce,
      'x-hmac-signed-headers': 'Date;x-request-nonce',
      'x-hmac-algorithm': 'hmac-sha256',
      'x-hmac-access-key': ACCESS_KEY,
      'x-hmac-signature': createHmac('sha256', key).update(text).digest('base64'),
    }
  }
}
