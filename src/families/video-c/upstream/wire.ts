import { readTime } from '../../../kernel/read-time.ts'
import type { TaskObservation } from '../../../app/ports/provider.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { tokenHeaders } from '../../kit/http/connections.ts'
import { failureStatus } from '../../kit/http/error-bodies.ts'
import { codeOf, losslessCount, objectsOf, textOf, upstreamIdOf } from '../../kit/http/fields.ts'
import {
  type TaskWire,
  type TaskWireError,
  type Wanted,
  MAX_LABEL_LENGTH,
  settingsOf,
  urlsOf,
} from '../../kit/task/wire.ts'
import { CREDITS } from '../rules/pricing.ts'

/** Errors of the operator's credential, contract or balance upstream, whatever the status. */
const ACCOUNT_REASONS: ReadonlySet<string> = new Set([
  'CreditInsufficient',
  'Forbidden',
  'ModelUnavailable',
  'Unauthorized',
])

/** The envelope `{"code":…,"reason":…,"message":…,"metadata":…}`; undefined for another body. */
function readReasonError(body: unknown): TaskWireError | undefined {
  if (!isJsonObject(body)) return undefined
  const code = codeOf(body['reason'])
  if (code === undefined) return undefined
  return {
    code,
    message: textOf(body['message']) ?? '',
    param: undefined,
    account: ACCOUNT_REASONS.has(code),
    status: failureStatus(body['code']),
  }
}

/** Converts the wire of the `/provC` video family for the use cases. */

/** Result links of a creation. */
const urlFields = ['url', 'cover_url', 'watermarked_url'] as const

/** Echoed settings and actual specs, in the wire's own names. */
const outputFields = [
  'duration',
  'resolution',
  'aspect_ratio',
  'movement_amplitude',
  'style',
  'audio',
  'bgm',
  'off_peak',
  'watermark',
] as const

const statuses: Readonly<Record<string, TaskObservation['status']>> = {
  created: 'queued',
  queueing: 'queued',
  // Seen only in a refused cancellation: work on it is about to begin.
  scheduled: 'running',
  processing: 'running',
  success: 'succeeded',
  failed: 'failed',
}

/** Cancellations: by the caller, or by upstream after too long a wait. */
const CANCELLED: ReadonlySet<string> = new Set(['UserCancelled', 'Canceled'])

/** An id, which may come as a number. */
function idOf(value: unknown): string | undefined {
  const id = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value
  return upstreamIdOf(id)
}

function statusOf(word: string, code: string | undefined): TaskObservation['status'] {
  // Services and relays differ in the case of these words.
  const known = word.toLowerCase()
  const status = Object.hasOwn(statuses, known) ? statuses[known] : undefined
  if (status === 'failed' && code !== undefined && CANCELLED.has(code)) return 'cancelled'
  return status ?? 'unknown'
}

/** Upstream makes one result; some answers have it in a list, others as an object. */
function creationOf({ creations }: JsonObject): JsonObject | undefined {
  return isJsonObject(creations) ? creations : objectsOf(creations)[0]
}

/** A time that is RFC 3339 in some answers and milliseconds in others. */
function createdAtMs(value: unknown): number | undefined {
  if (typeof value === 'string' && !/^\d+$/.test(value)) return readTime(value)
  const unixMs = Number(value)
  return Number.isFinite(unixMs) && unixMs > 0 ? unixMs : undefined
}

function settings(body: JsonObject, creationId: string | undefined): TaskObservation['output'] {
  const named = settingsOf(body, outputFields)
  return creationId === undefined ? named : { ...named, creation_id: creationId }
}

/**
 * One task of the wire, or undefined if the value is not one; an answer to a query may lack the id.
 */
function observationOf(body: unknown, asked: string | undefined): TaskObservation | undefined {
  if (!isJsonObject(body)) return undefined
  const nativeId = idOf(body['id']) ?? asked
  const state = textOf(body['state'])
  if (nativeId === undefined || state === undefined) return undefined
  const word = state.slice(0, MAX_LABEL_LENGTH)
  const code = codeOf(body['err_code'])
  const status = statusOf(word, code)
  const credits = losslessCount(body['credits'])
  const creation = creationOf(body)
  const urls = urlsOf(creation, urlFields)
  const createdMs = createdAtMs(body['created_at'])
  const payload = textOf(body['payload'])
  const upstreamModel = textOf(body['model'])
  return {
    nativeId,
    status,
    upstreamStatus: word,
    ...(upstreamModel === undefined ? {} : { upstreamModel }),
    ...(payload === undefined ? {} : { marker: payload }),
    ...(credits === undefined ? {} : { usage: { [CREDITS]: credits } }),
    output: settings(body, idOf(creation?.['id'])),
    ...(status === 'failed' ? { error: failureOf(code) } : {}),
    ...(urls === undefined ? {} : { urls }),
    ...(createdMs === undefined ? {} : { createdAtMs: createdMs }),
  }
}

/** A failure on this wire has a code and no message. */
function failureOf(code: string | undefined): NonNullable<TaskObservation['error']> {
  const named = code ?? 'InternalServiceFailure'
  return { code: named, message: `The model service could not make the video: ${named}.` }
}

const BASE = '/ent/v2'
/** The size of a page, and the most ids of one list request. */
const PAGE_SIZE = 100

const taskPath = (nativeId: string, part: string): string =>
  `${BASE}/tasks/${encodeURIComponent(nativeId)}/${part}`

/** The `/provC` video family. */
export const videoCWire: TaskWire = {
  family: 'video-c',
  maxListIds: PAGE_SIZE,
  maxListSize: PAGE_SIZE,
  maxListPages: 500,
  showsMarkers: true,
  credentialHeaders: tokenHeaders,
  createPath: ({ settings }) => `${BASE}/${String(settings['mode'])}`,
  createBody: ({ model, body, marker }) => ({ ...body, model, payload: marker }),
  taskPath: (nativeId) => taskPath(nativeId, 'creations'),
  cancelRequest: (nativeId) => ({
    method: 'POST',
    path: taskPath(nativeId, 'cancel'),
    body: { id: nativeId },
  }),
  listPath: (wanted) => `${BASE}/tasks?${listQuery(wanted).toString()}`,
  readError: readReasonError,
  readCreated: (body) => (isJsonObject(body) ? idOf(body['task_id'] ?? body['id']) : undefined),
  readTask: (body, _scrub, asked) => observationOf(body, asked),
  readList: (body) => {
    const tasks = isJsonObject(body) ? body['tasks'] : undefined
    // The wire reports no total.
    return Array.isArray(tasks) ? { items: tasks, total: undefined } : undefined
  },
}

/** Pages are numbered from 0, newest first. */
function listQuery(wanted: Wanted): URLSearchParams {
  const query = new URLSearchParams()
  if ('nativeIds' in wanted) {
    query.set('pager.page', '0')
    query.set('pager.pagesz', String(PAGE_SIZE))
    for (const id of wanted.nativeIds) query.append('task_ids', id)
  } else {
    query.set('pager.page', String(wanted.page - 1))
    query.set('pager.pagesz', String(wanted.pageSize))
  }
  return query
}
