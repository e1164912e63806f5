import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import type { TaskObservation } from '../../../app/ports/provider.ts'
import type { Usage } from '../../../domain/pricing/usage.ts'
import { isJsonObject } from '../../../kernel/json.ts'
import { bearerHeaders } from '../../kit/http/connections.ts'
import { readDottedError, statusOfDotted } from '../../kit/http/error-bodies.ts'
import { codeOf, losslessCount, objectOf } from '../../kit/http/fields.ts'
import type { Scrubber } from '../../kit/http/scrubber.ts'
import { MAX_LABEL_LENGTH, observedTask, type TaskWire, type Wanted } from '../../kit/task/wire.ts'
import { COMPLETION_TOKENS, toolUnit, TOTAL_TOKENS } from '../rules/pricing.ts'

/**
 * The answers of the `/provA` video upstream. Only members that are read are described; further
 * ones are allowed everywhere. Numbers may come as strings of digits (lossless parsing).
 */

const CreateAnswerSchema = Type.Object({ id: Type.String({ minLength: 1, maxLength: 200 }) })

const TaskSchema = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 200 }),
  status: Type.String({ minLength: 1, maxLength: 100 }),
  model: Type.Optional(Type.Unknown()),
  safety_identifier: Type.Optional(Type.Unknown()),
  content: Type.Optional(Type.Unknown()),
  usage: Type.Optional(Type.Unknown()),
  error: Type.Optional(Type.Unknown()),
  created_at: Type.Optional(Type.Unknown()),
  updated_at: Type.Optional(Type.Unknown()),
})

const ListAnswerSchema = Type.Object({
  items: Type.Array(Type.Unknown()),
  total: Type.Optional(Type.Unknown()),
})

/** Echoed settings and actual specs a task may carry, in the wire's own names. */
const outputFields = [
  'resolution',
  'ratio',
  'duration',
  'frames',
  'framespersecond',
  'seed',
  'generate_audio',
  'watermark',
  'output_format',
  'draft',
  'service_tier',
  'execution_expires_after',
  'priority',
] as const

/** Result links of a finished task. */
const urlFields = ['video_url', 'last_frame_url'] as const

/** Converts the wire of the `/provA` video family for the use cases. */

/** Reads the measured usage; members that are not counts are left out, none at all is undefined. */
function usageOf(value: unknown): Usage | undefined {
  if (!isJsonObject(value)) return undefined
  const tools = objectOf(value['tool_usage'])
  const measured = [
    [COMPLETION_TOKENS, value['completion_tokens']] as const,
    [TOTAL_TOKENS, value['total_tokens']] as const,
    ...Object.entries(tools)
      .filter(([name]) => name.length <= MAX_LABEL_LENGTH)
      .map(([name, raw]) => [toolUnit(name), raw] as const),
  ].flatMap(([unit, raw]) => {
    const count = losslessCount(raw)
    return count === undefined ? [] : [[unit, count] as const]
  })
  return measured.length === 0 ? undefined : Object.fromEntries(measured)
}

function errorOf(value: unknown, scrub: Scrubber): TaskObservation['error'] {
  if (!isJsonObject(value)) return undefined
  const message = typeof value['message'] === 'string' ? value['message'] : ''
  return { code: codeOf(value['code']) ?? 'service_error', message: scrub(message) }
}

/** Compiled, because every polled list has many tasks. */
const task = Compile(TaskSchema)

/** One task of the wire, or undefined if the value is not one. */
function observationOf(value: unknown, scrub: Scrubber): TaskObservation | undefined {
  if (!task.Check(value)) return undefined
  const { safety_identifier: marker } = value
  const seen = { usage: usageOf(value.usage), error: errorOf(value.error, scrub) }
  const observed = observedTask(value, seen, outputFields, urlFields)
  return typeof marker === 'string' ? { ...observed, marker } : observed
}

const TASKS_PATH = '/contents/generations/tasks'
/** The most ids of one list, so that every proxy accepts the request line. */
const MAX_LIST_IDS = 100

const createAnswer = Compile(CreateAnswerSchema)
const listAnswer = Compile(ListAnswerSchema)

/** The `/provA` video family. */
export const videoAWire: TaskWire = {
  family: 'video-a',
  maxListIds: MAX_LIST_IDS,
  // Bounds of `page_size` and `page_num` on the wire.
  maxListSize: 500,
  maxListPages: 500,
  showsMarkers: true,
  credentialHeaders: bearerHeaders,
  createPath: () => TASKS_PATH,
  createBody: ({ model, body, marker }) => ({ ...body, model, safety_identifier: marker }),
  taskPath: (nativeId) => `${TASKS_PATH}/${encodeURIComponent(nativeId)}`,
  listPath: (wanted) => `${TASKS_PATH}?${listQuery(wanted).toString()}`,
  readError: (body) => {
    const error = readDottedError(body)
    return error && { ...error, status: statusOfDotted(error.code) }
  },
  readCreated: (body) => (createAnswer.Check(body) ? body.id : undefined),
  readTask: observationOf,
  readList: (body) =>
    listAnswer.Check(body) ? { items: body.items, total: losslessCount(body.total) } : undefined,
}

function listQuery(wanted: Wanted): URLSearchParams {
  const query = new URLSearchParams()
  if ('nativeIds' in wanted) {
    query.set('page_num', '1')
    query.set('page_size', String(MAX_LIST_IDS))
    // The wire expects a repeated parameter, not a comma-separated one.
    for (const id of wanted.nativeIds) query.append('filter.task_ids', id)
  } else {
    query.set('page_num', String(wanted.page))
    query.set('page_size', String(wanted.pageSize))
  }
  return query
}
