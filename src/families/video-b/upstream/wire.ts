import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import type { TaskObservation, TaskSubmission } from '../../../app/ports/provider.ts'
import type { Usage } from '../../../domain/pricing/usage.ts'
import { invariant } from '../../../kernel/assert.ts'
import { isJsonObject } from '../../../kernel/json.ts'
import { bearerHeaders } from '../../kit/http/connections.ts'
import { failureStatus } from '../../kit/http/error-bodies.ts'
import { codeOf, losslessCount, losslessSeconds, objectOf, textOf } from '../../kit/http/fields.ts'
import { jsonInPieces } from '../../kit/http/json.ts'
import type { Scrubber } from '../../kit/http/scrubber.ts'
import { type TaskWire, type TaskWireError, observedTask } from '../../kit/task/wire.ts'
import { videoBUnits } from '../rules/pricing.ts'

/**
 * The error envelope of the `/provB` video upstream: its numbers are more specific than its types.
 */

/**
 * The operator's credential is unknown or for another host, or the operator's balance is used up.
 */
const ACCOUNT_NUMBERS: ReadonlySet<string> = new Set(['1004', '1008', '2049'])
const NUMBER = /(?<!\s)\s*\((\d{4})\)\s*$/
const MISSING = /record not found|invalid task_?id/i

/** `{"type":"error","error":{type,message,http_code},"request_id"}`; undefined for another body. */
function readNumberedError(body: unknown): TaskWireError | undefined {
  const error = isJsonObject(body) ? body['error'] : undefined
  if (!isJsonObject(error)) return undefined
  const said = textOf(error['message']) ?? ''
  const code = NUMBER.exec(said)?.[1]
  const message = said.replace(NUMBER, '')
  return {
    code,
    message,
    param: undefined,
    account: code !== undefined && ACCOUNT_NUMBERS.has(code),
    status: failureStatus(error['http_code']),
    missing: MISSING.test(message),
  }
}

/** Upstream has its own scheme for uploaded files. */
const OURS = /^media_file:\/\//
const UPSTREAM_SCHEME = 'mm_file://'

/** A body whose references to uploaded files have upstream's form. */
function upstreamContent(body: TaskSubmission['body']): TaskSubmission['body'] {
  const { content } = body
  if (!Array.isArray(content)) return body
  return {
    ...body,
    content: content.map((item: unknown) =>
      isJsonObject(item)
        ? Object.fromEntries(Object.entries(item).map(([name, part]) => [name, renamed(part)]))
        : item,
    ),
  }
}

function renamed(part: unknown): unknown {
  if (!isJsonObject(part) || typeof part['url'] !== 'string') return part
  return { ...part, url: part['url'].replace(OURS, UPSTREAM_SCHEME) }
}

/**
 * The answers of the `/provB` video upstream. Only members that are read are described; further
 * ones are allowed everywhere. Ids may come as numbers, numbers as strings of digits.
 */

const Id = Type.Union([Type.String({ pattern: '^[\\w-]{1,100}$' }), Type.Integer({ minimum: 1 })])

const CreateAnswerSchema = Type.Object({ task_id: Id })

const TaskSchema = Type.Object({
  id: Id,
  status: Type.String({ minLength: 1, maxLength: 100 }),
  model: Type.Optional(Type.Unknown()),
  content: Type.Optional(Type.Unknown()),
  usage: Type.Optional(Type.Unknown()),
  error: Type.Optional(Type.Unknown()),
  created_at: Type.Optional(Type.Unknown()),
  updated_at: Type.Optional(Type.Unknown()),
})

const ListAnswerSchema = Type.Object({
  tasks: Type.Array(Type.Unknown()),
  total: Type.Optional(Type.Unknown()),
})

/** Echoed settings and actual specs a task may carry, in the wire's own names. */
const outputFields = ['task_type', 'modality', 'resolution', 'ratio', 'duration'] as const

/** The one result link of a finished task. */
const urlFields = ['url'] as const

/** Converts the wire of the `/provB` video family for the use cases. */

/** Reads the measured usage; members that are not counts are left out, none at all is undefined. */
function usageOf(value: unknown): Usage | undefined {
  const usage = objectOf(value)
  const measured = videoBUnits.flatMap((unit) => {
    const count = unit.endsWith('_seconds')
      ? losslessSeconds(usage[unit])
      : losslessCount(usage[unit])
    return count === undefined ? [] : [[unit, count] as const]
  })
  return measured.length === 0 ? undefined : Object.fromEntries(measured)
}

/** Codes of the envelope are numbers, written as text. */
function errorOf(value: unknown, scrub: Scrubber): TaskObservation['error'] {
  if (!isJsonObject(value)) return undefined
  const { code, message } = value
  const number = /^\d{1,8}$/.exec(String(code))?.[0]
  const said = typeof message === 'string' ? message : ''
  return { code: number ?? codeOf(code) ?? 'server_error', message: scrub(said) }
}

/** Compiled, because every polled list has many tasks. */
const task = Compile(TaskSchema)

/** A task of the wire, in an envelope or as a list item; undefined if the value is not one. */
function observationOf(body: unknown, scrub: Scrubber): TaskObservation | undefined {
  const value = isJsonObject(body) && isJsonObject(body['task']) ? body['task'] : body
  if (!task.Check(value)) return undefined
  const seen = { usage: usageOf(value.usage), error: errorOf(value.error, scrub) }
  return observedTask(value, seen, outputFields, urlFields)
}

const CREATE_PATH = '/v2/video_generation'
const QUERY_PATH = '/v2/query/video_generation'

const createAnswer = Compile(CreateAnswerSchema)
const listAnswer = Compile(ListAnswerSchema)

/** The `/provB` video family. */
export const videoBWire: TaskWire = {
  family: 'video-b',
  // Lists of upstream have all tasks of the account, and no member that the caller or the gateway
  // could choose.
  maxListIds: 0,
  maxListSize: 20,
  maxListPages: 500,
  showsMarkers: false,
  credentialHeaders: bearerHeaders,
  createPath: () => CREATE_PATH,
  createBody: ({ model, body }) => jsonInPieces({ ...upstreamContent(body), model }),
  taskPath: (nativeId) => `${QUERY_PATH}/${encodeURIComponent(nativeId)}`,
  cancelRequest: (nativeId) => ({
    method: 'DELETE',
    path: `${CREATE_PATH}/${encodeURIComponent(nativeId)}`,
  }),
  listPath: (wanted) => {
    invariant('page' in wanted, 'upstream lists by pages')
    return `${QUERY_PATH}?page_num=${wanted.page}&page_size=${wanted.pageSize}`
  },
  readError: readNumberedError,
  readCreated: (body) => (createAnswer.Check(body) ? String(body.task_id) : undefined),
  readTask: observationOf,
  readList: (body) =>
    listAnswer.Check(body) ? { items: body.tasks, total: losslessCount(body.total) } : undefined,
}
